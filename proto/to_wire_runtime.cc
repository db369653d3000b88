// To the wire: the container runtime and the kubelet.

#include "gpuskew/v1/runtime_facts.pb.h"
#include "proto/to_wire_facts.h"
#include "proto/wire_write.h"

namespace gpuskew::wire {
namespace {

void write_handler(const RuntimeHandler& from, v1::RuntimeHandler& to) {
  assign_utf8(*to.mutable_name(), from.name);
  assign_utf8(*to.mutable_binary(), from.binary);
  assign_utf8(*to.mutable_file(), from.file);
}

void write_conflict(const ConfigConflict& from, v1::ConfigConflict& to) {
  assign_utf8(*to.mutable_key(), from.key);
  assign_utf8(*to.mutable_kept(), from.kept);
  assign_utf8(*to.mutable_lost(), from.lost);
  assign_utf8(*to.mutable_effect(), from.effect);
}

void write_resource(const PluginResource& from, v1::PluginResource& to) {
  assign_utf8(*to.mutable_name(), from.name);
  to.set_devices(from.devices);
}

void write_pod(const PodDevices& from, v1::PodDevices& to) {
  assign_utf8(*to.mutable_pod_uid(), from.pod_uid);
  assign_utf8(*to.mutable_container(), from.container);
  assign_utf8(*to.mutable_resource(), from.resource);
  to.set_devices(from.devices);
}

}  // namespace

void write_runtime(const Fact<ContainerRuntime>& from, v1::ContainerRuntimeFact& to) {
  write_fact(from, to, [](const ContainerRuntime& runtime, v1::ContainerRuntimeFact& fact) {
    v1::ContainerRuntime& known = *fact.mutable_known();
    assign_utf8(*known.mutable_kind(), to_string(runtime.kind));
    assign_utf8(*known.mutable_flavour(), runtime.flavour);
    assign_utf8(*known.mutable_config(), runtime.config);
    known.set_config_version(runtime.config_version);
    write_text(runtime.version, *known.mutable_version());
    write_items(runtime.handlers, *known.mutable_handlers(), write_handler);
    assign_utf8(*known.mutable_default_runtime(), runtime.default_runtime);
    known.set_cdi_enabled(runtime.cdi_enabled);
    write_texts(runtime.unimported, *known.mutable_unimported());
    write_items(runtime.conflicts, *known.mutable_conflicts(), write_conflict);
    write_time(runtime.started_at, *known.mutable_started_at());
    assign_utf8(*known.mutable_newest_file(), runtime.newest_file);
    known.set_newest_change_unix_ms(to_unix_ms(runtime.newest_change));
    assign_utf8(*known.mutable_toolkit(), runtime.toolkit);
  });
}

void write_cdi_specs(const Fact<std::vector<CdiSpec>>& from, v1::CdiSpecsFact& to) {
  write_list(from, to, [](const CdiSpec& spec, v1::CdiSpec& item) {
    assign_utf8(*item.mutable_path(), spec.path);
    assign_utf8(*item.mutable_kind(), spec.kind);
    item.set_devices(spec.devices);
    assign_utf8(*item.mutable_driver_version(), spec.driver_version);
  });
}

void write_kubelet(const Fact<KubeletDevices>& from, v1::KubeletDevicesFact& to) {
  write_fact(from, to, [](const KubeletDevices& kubelet, v1::KubeletDevicesFact& fact) {
    v1::KubeletDevices& known = *fact.mutable_known();
    write_texts(kubelet.sockets, *known.mutable_sockets());
    write_items(kubelet.registered, *known.mutable_registered(), write_resource);
    write_items(kubelet.pods, *known.mutable_pods(), write_pod);
  });
}

}  // namespace gpuskew::wire
