// To the wire: the hardware, who holds it, and what the kernel says of it.

#include "gpuskew/v1/device_facts.pb.h"
#include "proto/to_wire_facts.h"
#include "proto/wire_write.h"

namespace gpuskew::wire {
namespace {

void write_holder(const DeviceHolder& from, v1::DeviceHolder& to) {
  to.set_pid(from.pid);
  assign_utf8(*to.mutable_command(), from.command);
  write_texts(from.devices, *to.mutable_devices());
  assign_utf8(*to.mutable_pod_uid(), from.pod_uid);
  assign_utf8(*to.mutable_container_id(), from.container_id);
  assign_utf8(*to.mutable_unit(), from.unit);
  to.set_asked_for_gpu(from.asked_for_gpu);
}

void write_event(const KernelLogEvent& from, v1::KernelLogEvent& to) {
  assign_utf8(*to.mutable_kind(), to_string(from.kind));
  assign_utf8(*to.mutable_gpu(), from.gpu);
  to.set_xid(from.xid);
  assign_utf8(*to.mutable_ours(), from.ours);
  assign_utf8(*to.mutable_theirs(), from.theirs);
  assign_utf8(*to.mutable_text(), from.text);
  to.set_first_unix_ms(to_unix_ms(from.first_at));
  to.set_last_unix_ms(to_unix_ms(from.last_at));
  to.set_count(from.count);
}

}  // namespace

void write_gpus(const Fact<std::vector<Gpu>>& from, v1::GpusFact& to) {
  write_list(from, to, [](const Gpu& gpu, v1::Gpu& item) {
    assign_utf8(*item.mutable_address(), gpu.address);
    item.set_device_id(gpu.device_id);
    write_text(gpu.driver, *item.mutable_driver());
  });
}

void write_pci_functions(const Fact<std::vector<PciFunction>>& from, v1::PciFunctionsFact& to) {
  write_list(from, to, [](const PciFunction& function, v1::PciFunction& item) {
    assign_utf8(*item.mutable_address(), function.address);
    item.set_device_id(function.device_id);
    assign_utf8(*item.mutable_kind(), to_string(function.kind));
  });
}

void write_device_nodes(const Fact<std::vector<DeviceNode>>& from, v1::DeviceNodesFact& to) {
  write_list(from, to, [](const DeviceNode& node, v1::DeviceNode& item) {
    assign_utf8(*item.mutable_path(), node.path);
    item.set_major(node.major);
    item.set_minor(node.minor);
  });
}

void write_holders(const Fact<DeviceHolders>& from, v1::DeviceHoldersFact& to) {
  write_fact(from, to, [](const DeviceHolders& holders, v1::DeviceHoldersFact& fact) {
    v1::DeviceHolders& known = *fact.mutable_known();
    write_items(holders.items, *known.mutable_items(), write_holder);
    known.set_total(holders.total);
    known.set_unread(holders.unread);
    assign_utf8(*known.mutable_unread_why(), holders.unread_why);
  });
}

void write_kernel_log(const Fact<std::vector<KernelLogEvent>>& from, v1::KernelLogFact& to) {
  write_list(from, to, write_event);
}

}  // namespace gpuskew::wire
