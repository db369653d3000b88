#include "proto/json.h"

#include <string>

#include <nlohmann/json.hpp>

#include "core/facts/each_fact.h"
#include "proto/json_values.h"

namespace gpuskew {

using Json = nlohmann::ordered_json;

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
  for_each_fact(snapshot, [&json](const char* name, const auto& fact) { json[name] = fact_json(fact); });
  json["expected_gpus"] = snapshot.expected_gpus ? Json(*snapshot.expected_gpus) : Json();
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
  json["gpus"] = good.gpus;
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
  json["next_boot"] = to_json(verdict.next_boot);
  json["revisit_at"] = verdict.revisit_at ? Json(to_rfc3339(*verdict.revisit_at)) : Json();
  return json;
}

Json to_json(const NextBoot& next) {
  Json json;
  json["outcome"] = to_string(next.gpu);
  json["why"] = next.why;
  json["kernel"] = next.kernel ? Json(next.kernel->text()) : Json();
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
