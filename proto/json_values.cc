#include "proto/json_values.h"

#include <optional>

#include <fmt/format.h>

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

/// What stands for "none" in core, as null.
Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
Json time_or_null(Time time) {
  return time == Time{} ? Json() : Json(to_rfc3339(time));
}

/// As sysfs and lspci print it.
std::string device_id_text(std::uint16_t id) {
  return fmt::format("0x{:04x}", id);
}

}  // namespace

Json value_json(bool value) {
  return value;
}
Json value_json(std::uint32_t value) {
  return value;
}
Json value_json(const std::string& value) {
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

Json value_json(const ModuleFile& value) {
  Json json;
  json["path"] = value.path;
  json["home"] = to_string(module_home(value.path));
  json["version"] = fact_json(value.version);
  json["built_for"] = fact_json(value.built_for);
  json["flavour"] = fact_json(value.flavour);
  return json;
}

Json value_json(const KernelModule& value) {
  Json json;
  json["name"] = value.name;
  json["refcount"] = value.refcount ? Json(*value.refcount) : Json();
  json["used_by"] = value.used_by;
  json["state"] = to_string(value.state);
  json["taints"] = value.taints;
  json["state_since"] = time_or_null(value.state_since);
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

Json value_json(const DriverContainer& value) {
  Json json;
  json["root"] = value.root;
  json["mounted"] = value.mounted;
  return json;
}

Json value_json(const ValidationMark& value) {
  Json json;
  json["name"] = value.name;
  json["written"] = to_rfc3339(value.written);
  json["host_driver"] = value.host_driver;
  return json;
}

Json value_json(const InstallTrace& value) {
  Json json;
  json["kind"] = to_string(value.kind);
  json["part"] = to_string(value.part);
  json["name"] = value.name;
  json["version"] = text_or_null(value.version);
  json["source"] = value.source;
  json["changed_by"] = text_or_null(value.changed_by);
  return json;
}

Json value_json(const Gpu& value) {
  Json json;
  json["address"] = value.address;
  json["device_id"] = device_id_text(value.device_id);
  json["driver"] = fact_json(value.driver);
  return json;
}

Json value_json(const PciFunction& value) {
  Json json;
  json["address"] = value.address;
  json["device_id"] = device_id_text(value.device_id);
  json["kind"] = to_string(value.kind);
  return json;
}

Json value_json(const DeviceNode& value) {
  Json json;
  json["path"] = value.path;
  json["major"] = value.major;
  json["minor"] = value.minor;
  return json;
}

Json value_json(const DeviceHolder& value) {
  Json json;
  json["pid"] = value.pid;
  json["command"] = value.command;
  json["devices"] = value.devices;
  json["pod_uid"] = text_or_null(value.pod_uid);
  json["container_id"] = text_or_null(value.container_id);
  json["unit"] = text_or_null(value.unit);
  json["asked_for_gpu"] = value.asked_for_gpu;
  return json;
}

Json value_json(const DeviceHolders& value) {
  Json json;
  json["items"] = value_json(value.items);
  json["total"] = value.total;
  json["unread"] = value.unread;
  json["unread_why"] = text_or_null(value.unread_why);
  return json;
}

Json value_json(const KernelLogEvent& value) {
  Json json;
  json["kind"] = to_string(value.kind);
  json["gpu"] = text_or_null(value.gpu);
  json["xid"] = value.xid == 0 ? Json() : Json(value.xid);
  json["ours"] = text_or_null(value.ours);
  json["theirs"] = text_or_null(value.theirs);
  json["text"] = value.text;
  json["first_at"] = to_rfc3339(value.first_at);
  json["last_at"] = to_rfc3339(value.last_at);
  json["count"] = value.count;
  return json;
}

Json value_json(const InstalledKernel& value) {
  Json json;
  json["release"] = value.release.text();
  json["has_image"] = value.has_image;
  json["has_headers"] = value.has_headers;
  json["module_file"] = fact_json(value.module_file);
  return json;
}

Json value_json(const NextKernel& value) {
  Json json;
  json["release"] = value.release.text();
  json["rule"] = value.rule;
  return json;
}

Json value_json(const DkmsEntry& value) {
  Json json;
  json["module"] = value.module;
  json["version"] = value.version;
  json["kernel"] = text_or_null(value.kernel);
  json["architecture"] = text_or_null(value.architecture);
  json["stage"] = to_string(value.stage);
  json["note"] = text_or_null(value.note);
  return json;
}

Json value_json(const BootBuilder& value) {
  Json json;
  json["name"] = value.name;
  json["source"] = value.source;
  return json;
}

Json value_json(const RebootRequired& value) {
  Json json;
  json["packages"] = value.packages;
  return json;
}

Json value_json(const RuntimeHandler& value) {
  Json json;
  json["name"] = value.name;
  json["binary"] = text_or_null(value.binary);
  json["file"] = value.file;
  return json;
}

Json value_json(const ConfigConflict& value) {
  Json json;
  json["key"] = value.key;
  json["kept"] = value.kept;
  json["lost"] = value.lost;
  json["effect"] = value.effect;
  return json;
}

Json value_json(const ContainerRuntime& value) {
  Json json;
  json["kind"] = to_string(value.kind);
  json["flavour"] = text_or_null(value.flavour);
  json["config"] = value.config;
  json["config_version"] = value.config_version == 0 ? Json() : Json(value.config_version);
  json["version"] = fact_json(value.version);
  json["handlers"] = value_json(value.handlers);
  json["default_runtime"] = text_or_null(value.default_runtime);
  json["cdi_enabled"] = value.cdi_enabled;
  json["unimported"] = value.unimported;
  json["conflicts"] = value_json(value.conflicts);
  json["started_at"] = fact_json(value.started_at);
  json["newest_file"] = text_or_null(value.newest_file);
  json["newest_change"] = time_or_null(value.newest_change);
  json["toolkit"] = text_or_null(value.toolkit);
  return json;
}

Json value_json(const CdiSpec& value) {
  Json json;
  json["path"] = value.path;
  json["kind"] = value.kind;
  json["devices"] = value.devices;
  json["driver_version"] = text_or_null(value.driver_version);
  return json;
}

Json value_json(const PluginResource& value) {
  Json json;
  json["name"] = value.name;
  json["devices"] = value.devices;
  return json;
}

Json value_json(const PodDevices& value) {
  Json json;
  json["pod_uid"] = text_or_null(value.pod_uid);
  json["container"] = value.container;
  json["resource"] = value.resource;
  json["devices"] = value.devices;
  return json;
}

Json value_json(const KubeletDevices& value) {
  Json json;
  json["sockets"] = value.sockets;
  json["registered"] = value_json(value.registered);
  json["pods"] = value_json(value.pods);
  return json;
}

}  // namespace gpuskew
