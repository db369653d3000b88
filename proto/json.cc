#include "proto/json.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

Json value_json(const std::string& value) {
  return value;
}
Json value_json(std::uint32_t value) {
  return value;
}
Json value_json(Time value) {
  return to_rfc3339(value);
}
Json value_json(const KernelRelease& value) {
  return value.text();
}
Json value_json(const DriverVersion& value) {
  return value.text();
}
Json value_json(ModuleFlavour value) {
  return to_string(value);
}

Json value_json(const OsIdentity& value) {
  Json json;
  json["id"] = value.id;
  json["version_id"] = value.version_id ? Json(*value.version_id) : Json();
  json["pretty_name"] = value.pretty_name;
  json["variant_id"] = value.variant_id;
  json["build_id"] = value.build_id;
  json["ostree_version"] = value.ostree_version;
  return json;
}

Json value_json(const DriverContainer& value) {
  Json json;
  json["root"] = value.root;
  json["mounted"] = value.mounted;
  return json;
}

Json value_json(const Library& value) {
  Json json;
  json["name"] = value.name;
  json["version"] = value.version.text();
  json["path"] = value.path;
  json["root"] = value.root == DriverRoot::Container ? "container" : "host";
  return json;
}

Json value_json(const ModuleFile& value);
Json value_json(const Gpu& value);

template <class T>
Json value_json(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) {
    json.push_back(value_json(value));
  }
  return json;
}

template <class T>
Json fact_json(const Fact<T>& fact) {
  Json json;
  if (fact.is_known()) {
    json["state"] = "known";
    json["value"] = value_json(fact.value());
  } else if (fact.is_absent()) {
    json["state"] = "absent";
  } else {
    json["state"] = "unknown";
    json["because"] = fact.why().what;
    json["code"] = to_string(fact.why().code);
  }
  json["source"] = fact.source();
  return json;
}

Json value_json(const ModuleFile& value) {
  Json json;
  json["path"] = value.path;
  json["version"] = fact_json(value.version);
  return json;
}

Json value_json(const Gpu& value) {
  Json json;
  json["address"] = value.address;
  // As sysfs and lspci print it.
  json["device_id"] = fmt::format("0x{:04x}", value.device_id);
  json["driver"] = fact_json(value.driver);
  return json;
}

}  // namespace

Json to_json(const Fact<std::string>& fact) {
  return fact_json(fact);
}
Json to_json(const Fact<std::uint32_t>& fact) {
  return fact_json(fact);
}
Json to_json(const Fact<Time>& fact) {
  return fact_json(fact);
}
Json to_json(const Fact<KernelRelease>& fact) {
  return fact_json(fact);
}
Json to_json(const Fact<DriverVersion>& fact) {
  return fact_json(fact);
}
Json to_json(const Fact<OsIdentity>& fact) {
  return fact_json(fact);
}

Json to_json(const Snapshot& snapshot) {
  Json json;
  json["node"] = snapshot.node;
  json["agent_version"] = snapshot.agent_version;
  json["taken_at"] = to_rfc3339(snapshot.taken_at);
  json["boot_id"] = fact_json(snapshot.boot_id);
  json["boot_time"] = fact_json(snapshot.boot_time);
  json["kernel"] = fact_json(snapshot.kernel);
  json["architecture"] = fact_json(snapshot.architecture);
  json["os"] = fact_json(snapshot.os);
  json["loaded_driver"] = fact_json(snapshot.loaded_driver);
  json["loaded_flavour"] = fact_json(snapshot.loaded_flavour);
  json["l4t_release"] = fact_json(snapshot.l4t_release);
  json["module_file"] = fact_json(snapshot.module_file);
  json["libraries"] = fact_json(snapshot.libraries);
  json["driver_container"] = fact_json(snapshot.driver_container);
  json["gpus"] = fact_json(snapshot.gpus);
  json["remembered"] = snapshot.remembered ? to_json(*snapshot.remembered) : Json();
  return json;
}

Json to_json(const LastGood& good) {
  Json json;
  json["at"] = to_rfc3339(good.at);
  json["boot_id"] = good.boot_id.empty() ? Json() : Json(good.boot_id);
  json["kernel"] = good.kernel.text();
  json["driver"] = good.driver.text();
  json["gpu_count"] = good.gpu_count ? Json(*good.gpu_count) : Json();
  json["from_container"] = good.from_container;
  return json;
}

Json to_json(const Finding& finding) {
  Json json;
  json["code"] = to_string(finding.code);
  json["severity"] = to_string(finding.severity);
  json["node"] = finding.node;
  json["since"] = to_rfc3339(finding.since);
  json["cause"] = finding.cause;
  json["evidence"] = Json::array();
  for (const Evidence& evidence : finding.evidence) {
    Json item;
    item["text"] = evidence.text;
    item["source"] = evidence.source;
    item["at"] = to_rfc3339(evidence.at);
    json["evidence"].push_back(std::move(item));
  }
  json["reboot_helps"] = to_string(finding.reboot_helps);
  json["reboot_why"] = finding.reboot_why;
  json["next_step"] = finding.next_step;
  json["affected_gpus"] = finding.affected_gpus;
  json["consequences"] = finding.consequences;
  return json;
}

Json to_json(const Verdict& verdict) {
  Json json;
  json["state"] = to_string(verdict.state);
  json["why"] = verdict.why;
  json["findings"] = Json::array();
  for (const Finding& finding : verdict.findings) {
    json["findings"].push_back(to_json(finding));
  }
  json["revisit_at"] = verdict.revisit_at ? Json(to_rfc3339(*verdict.revisit_at)) : Json();
  return json;
}

Json to_json(const Transition& transition) {
  Json json;
  json["node"] = transition.node;
  json["at"] = to_rfc3339(transition.at);
  json["kind"] = to_string(transition.kind);
  json["from"] = transition.from;
  json["to"] = transition.to;
  json["detail"] = transition.detail;
  return json;
}

Json to_json(const Tag& tag) {
  Json json;
  json["text"] = tag.text;
  json["driver"] = tag.driver;
  json["kernel"] = tag.kernel;
  json["os"] = tag.os;
  json["os_rule"] = tag.os_rule;
  json["notes"] = tag.notes;
  return json;
}

std::string dump(const nlohmann::ordered_json& value, bool pretty) {
  return value.dump(pretty ? 2 : -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuskew
