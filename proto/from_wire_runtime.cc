// From the wire: the container runtime and the kubelet.

#include "gpuskew/v1/runtime_facts.pb.h"
#include "proto/from_wire_facts.h"
#include "proto/wire_read.h"

namespace gpuskew::wire {
namespace {

void read_handler(v1::RuntimeHandler& from, RuntimeHandler& to, FieldReader& in) {
  in.text(from.mutable_name(), to.name, "name");
  in.prose(from.mutable_binary(), to.binary);
  in.prose(from.mutable_file(), to.file);
}

void read_conflict(v1::ConfigConflict& from, ConfigConflict& to, FieldReader& in) {
  in.text(from.mutable_key(), to.key, "key");
  in.prose(from.mutable_kept(), to.kept);
  in.prose(from.mutable_lost(), to.lost);
  in.prose(from.mutable_effect(), to.effect);
}

void read_runtime_known(v1::ContainerRuntimeFact& fact, ContainerRuntime& to, FieldReader& in) {
  v1::ContainerRuntime& from = *fact.mutable_known();
  in.word(from.kind(), to.kind, &runtime_kind_from, "container runtime");
  in.prose(from.mutable_flavour(), to.flavour);
  in.text(from.mutable_config(), to.config, "config");
  to.config_version = from.config_version();
  to.version = read_text(*from.mutable_version(), "version");
  in.items(from.mutable_handlers(), to.handlers, ContainerRuntime::kMaxItems, "handlers", read_handler);
  in.prose(from.mutable_default_runtime(), to.default_runtime);
  to.cdi_enabled = from.cdi_enabled();
  in.texts(from.mutable_unimported(), to.unimported, ContainerRuntime::kMaxItems, "files that nothing imports");
  in.items(from.mutable_conflicts(), to.conflicts, ContainerRuntime::kMaxItems, "conflicts", read_conflict);
  to.started_at = read_time(*from.mutable_started_at(), "start");
  in.prose(from.mutable_newest_file(), to.newest_file);
  in.time(from.newest_change_unix_ms(), to.newest_change, "newest change");
  in.prose(from.mutable_toolkit(), to.toolkit);
}

void read_cdi_spec(v1::CdiSpec& from, CdiSpec& to, FieldReader& in) {
  in.text(from.mutable_path(), to.path, "path");
  in.text(from.mutable_kind(), to.kind, "kind");
  to.devices = from.devices();
  in.prose(from.mutable_driver_version(), to.driver_version);
}

void read_resource(v1::PluginResource& from, PluginResource& to, FieldReader& in) {
  in.text(from.mutable_name(), to.name, "name");
  to.devices = from.devices();
}

void read_pod(v1::PodDevices& from, PodDevices& to, FieldReader& in) {
  in.prose(from.mutable_pod_uid(), to.pod_uid);
  in.prose(from.mutable_container(), to.container);
  in.text(from.mutable_resource(), to.resource, "resource");
  to.devices = from.devices();
}

}  // namespace

Fact<ContainerRuntime> read_runtime(v1::ContainerRuntimeFact& from, std::string_view field) {
  return read_fact<ContainerRuntime>(from, field, read_runtime_known);
}

Fact<std::vector<CdiSpec>> read_cdi_specs(v1::CdiSpecsFact& from, std::string_view field) {
  return read_list<CdiSpec>(from, field, kMaxCdiSpecs, "specifications", read_cdi_spec);
}

Fact<KubeletDevices> read_kubelet(v1::KubeletDevicesFact& from, std::string_view field) {
  return read_fact<KubeletDevices>(from, field, [](v1::KubeletDevicesFact& fact, KubeletDevices& to, FieldReader& in) {
    v1::KubeletDevices& known = *fact.mutable_known();
    in.texts(known.mutable_sockets(), to.sockets, KubeletDevices::kMaxItems, "sockets");
    in.items(known.mutable_registered(), to.registered, KubeletDevices::kMaxItems, "resources", read_resource);
    in.items(known.mutable_pods(), to.pods, KubeletDevices::kMaxItems, "pods", read_pod);
  });
}

}  // namespace gpuskew::wire
