#include <string>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/text.h"
#include "proto/to_wire_facts.h"
#include "proto/wire_write.h"

namespace gpuskew {
namespace wire {

void write_unknown(const Error& from, v1::Unknown& to) {
  assign_utf8(*to.mutable_code(), to_string(from.code));
  assign_utf8(*to.mutable_because(), from.what);
}

void write_texts(const std::vector<std::string>& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  write_items(from, to, [](const std::string& text, std::string& item) { assign_utf8(item, text); });
}

void write_text(const Fact<std::string>& from, v1::TextFact& to) {
  write_fact(from, to, [](const std::string& value, v1::TextFact& fact) { assign_utf8(*fact.mutable_known(), value); });
}

void write_time(const Fact<Time>& from, v1::TimeFact& to) {
  write_fact(from, to, [](Time value, v1::TimeFact& fact) { fact.set_known_unix_ms(to_unix_ms(value)); });
}

void write_bool(const Fact<bool>& from, v1::BoolFact& to) {
  write_fact(from, to, [](bool value, v1::BoolFact& fact) { fact.set_known(value); });
}

void write_flavour(const Fact<ModuleFlavour>& from, v1::TextFact& to) {
  write_fact(from, to,
             [](ModuleFlavour value, v1::TextFact& fact) { assign_utf8(*fact.mutable_known(), to_string(value)); });
}

}  // namespace wire

namespace {

void write_driver_facts(const Snapshot& from, v1::Snapshot& to) {
  wire::write_parsed(from.loaded_driver, *to.mutable_loaded_driver());
  wire::write_flavour(from.loaded_flavour, *to.mutable_loaded_flavour());
  wire::write_text(from.l4t_release, *to.mutable_l4t_release());
  wire::write_text(from.wsl, *to.mutable_wsl());
  wire::write_module_file(from.module_file, *to.mutable_module_file());
  wire::write_modules(from.modules, *to.mutable_modules());
  wire::write_libraries(from.libraries, *to.mutable_libraries());
  wire::write_parsed(from.fabric_manager, *to.mutable_fabric_manager());
  wire::write_container(from.driver_container, *to.mutable_driver_container());
  wire::write_validations(from.validations, *to.mutable_validations());
  wire::write_installs(from.installs, *to.mutable_installs());
}

void write_device_facts(const Snapshot& from, v1::Snapshot& to) {
  wire::write_gpus(from.gpus, *to.mutable_gpus());
  wire::write_pci_functions(from.pci_functions, *to.mutable_pci_functions());
  wire::write_device_nodes(from.device_nodes, *to.mutable_device_nodes());
  wire::write_holders(from.holders, *to.mutable_holders());
  wire::write_kernel_log(from.kernel_log, *to.mutable_kernel_log());
}

void write_boot_facts(const Snapshot& from, v1::Snapshot& to) {
  wire::write_text(from.command_line, *to.mutable_command_line());
  wire::write_bool(from.secure_boot, *to.mutable_secure_boot());
  wire::write_text(from.lockdown, *to.mutable_lockdown());
  wire::write_kernels(from.kernels, *to.mutable_kernels());
  wire::write_next_kernel(from.next_kernel, *to.mutable_next_kernel());
  wire::write_dkms(from.dkms, *to.mutable_dkms());
  wire::write_boot_builders(from.boot_builders, *to.mutable_boot_builders());
  wire::write_reboot_required(from.reboot_required, *to.mutable_reboot_required());
}

}  // namespace

void to_wire(const Snapshot& from, v1::Snapshot& to) {
  assign_utf8(*to.mutable_node(), from.node);
  assign_utf8(*to.mutable_agent_version(), from.agent_version);
  to.set_taken_unix_ms(to_unix_ms(from.taken_at));
  wire::write_text(from.boot_id, *to.mutable_boot_id());
  wire::write_time(from.boot_time, *to.mutable_boot_time());
  wire::write_parsed(from.kernel, *to.mutable_kernel());
  wire::write_text(from.architecture, *to.mutable_architecture());
  wire::write_os(from.os, *to.mutable_os());
  write_driver_facts(from, to);
  write_device_facts(from, to);
  write_boot_facts(from, to);
  wire::write_runtime(from.runtime, *to.mutable_runtime());
  wire::write_cdi_specs(from.cdi_specs, *to.mutable_cdi_specs());
  wire::write_kubelet(from.kubelet, *to.mutable_kubelet());
  if (from.expected_gpus) {
    to.set_expected_gpus(*from.expected_gpus);
  } else {
    to.clear_expected_gpus();
  }
  if (from.remembered) {
    to_wire(*from.remembered, *to.mutable_remembered());
  } else {
    to.clear_remembered();
  }
}

void to_wire(const LastGood& from, v1::LastGood& to) {
  to.set_at_unix_ms(to_unix_ms(from.at));
  assign_utf8(*to.mutable_boot_id(), from.boot_id);
  assign_utf8(*to.mutable_kernel(), from.kernel.text());
  assign_utf8(*to.mutable_driver(), from.driver.text());
  if (from.gpu_count) {
    to.set_gpu_count(*from.gpu_count);
  } else {
    to.clear_gpu_count();
  }
  to.set_from_container(from.from_container);
  wire::write_texts(from.gpus, *to.mutable_gpus());
}

std::string encode(const LastGood& value) {
  v1::LastGood wire;
  to_wire(value, wire);
  return wire.SerializeAsString();
}

}  // namespace gpuskew
