// From the wire: the hardware, who holds it, and what the kernel says of it.

#include "gpuskew/v1/device_facts.pb.h"
#include "proto/from_wire_facts.h"
#include "proto/wire_read.h"

namespace gpuskew::wire {
namespace {

void read_gpu(v1::Gpu& from, Gpu& to, FieldReader& in) {
  in.pci_address(from.mutable_address(), to.address);
  in.device_id(from.device_id(), to.device_id, to.address);
  to.driver = read_text(*from.mutable_driver(), "driver");
}

void read_pci_function(v1::PciFunction& from, PciFunction& to, FieldReader& in) {
  in.pci_address(from.mutable_address(), to.address);
  in.device_id(from.device_id(), to.device_id, to.address);
  in.word(from.kind(), to.kind, &function_kind_from, "kind of PCI function");
}

void read_device_node(v1::DeviceNode& from, DeviceNode& to, FieldReader& in) {
  in.text(from.mutable_path(), to.path, "path");
  to.major = from.major();
  to.minor = from.minor();
}

void read_holder(v1::DeviceHolder& from, DeviceHolder& to, FieldReader& in) {
  to.pid = from.pid();
  in.prose(from.mutable_command(), to.command);
  in.texts(from.mutable_devices(), to.devices, DeviceHolder::kMaxDevices, "devices of a process");
  in.prose(from.mutable_pod_uid(), to.pod_uid);
  in.prose(from.mutable_container_id(), to.container_id);
  in.prose(from.mutable_unit(), to.unit);
  to.asked_for_gpu = from.asked_for_gpu();
}

void read_event(v1::KernelLogEvent& from, KernelLogEvent& to, FieldReader& in) {
  in.word(from.kind(), to.kind, &kernel_log_kind_from, "kind of event");
  in.prose(from.mutable_gpu(), to.gpu);
  to.xid = from.xid();
  in.prose(from.mutable_ours(), to.ours);
  in.prose(from.mutable_theirs(), to.theirs);
  in.prose(from.mutable_text(), to.text, KernelLogEvent::kMaxText);
  in.time(from.first_unix_ms(), to.first_at, "first");
  in.time(from.last_unix_ms(), to.last_at, "last");
  to.count = from.count();
}

void read_holders_known(v1::DeviceHoldersFact& fact, DeviceHolders& to, FieldReader& in) {
  v1::DeviceHolders& from = *fact.mutable_known();
  in.items(from.mutable_items(), to.items, DeviceHolders::kMaxItems, "processes", read_holder);
  to.total = from.total();
  if (to.total < to.items.size()) {
    in.fail_with(ErrorCode::Malformed, std::to_string(to.items.size()) + " processes of a total of " +
                                           std::to_string(to.total) + " are no answer");
  }
  to.unread = from.unread();
  in.prose(from.mutable_unread_why(), to.unread_why);
}

}  // namespace

Fact<std::vector<Gpu>> read_gpus(v1::GpusFact& from, std::string_view field) {
  return read_list<Gpu>(from, field, Snapshot::kMaxGpus, "GPUs", read_gpu);
}

Fact<std::vector<PciFunction>> read_pci_functions(v1::PciFunctionsFact& from, std::string_view field) {
  return read_list<PciFunction>(from, field, Snapshot::kMaxPciFunctions, "PCI functions", read_pci_function);
}

Fact<std::vector<DeviceNode>> read_device_nodes(v1::DeviceNodesFact& from, std::string_view field) {
  return read_list<DeviceNode>(from, field, Snapshot::kMaxDeviceNodes, "device nodes", read_device_node);
}

Fact<DeviceHolders> read_holders(v1::DeviceHoldersFact& from, std::string_view field) {
  return read_fact<DeviceHolders>(from, field, read_holders_known);
}

Fact<std::vector<KernelLogEvent>> read_kernel_log(v1::KernelLogFact& from, std::string_view field) {
  return read_list<KernelLogEvent>(from, field, kMaxKernelLogEvents, "events", read_event);
}

}  // namespace gpuskew::wire
