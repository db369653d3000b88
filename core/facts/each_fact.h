#pragma once

// Every fact of a snapshot by its name: the key in JSON, the label in metrics. One list, so that a fact that is unknown
// can not be left out where the unknown ones are told.

#include <string_view>

#include "core/snapshot.h"

namespace gpuskew {

/// Calls `visit(name, fact)` for each fact of `snapshot`, a Snapshot or a const one, in the order people are shown
/// them.
template <class AnySnapshot, class Visit>
void for_each_fact(AnySnapshot&& snapshot, Visit visit) {
  visit("boot_id", snapshot.boot_id);
  visit("boot_time", snapshot.boot_time);
  visit("kernel", snapshot.kernel);
  visit("architecture", snapshot.architecture);
  visit("os", snapshot.os);
  visit("loaded_driver", snapshot.loaded_driver);
  visit("loaded_flavour", snapshot.loaded_flavour);
  visit("l4t_release", snapshot.l4t_release);
  visit("wsl", snapshot.wsl);
  visit("module_file", snapshot.module_file);
  visit("modules", snapshot.modules);
  visit("libraries", snapshot.libraries);
  visit("fabric_manager", snapshot.fabric_manager);
  visit("driver_container", snapshot.driver_container);
  visit("validations", snapshot.validations);
  visit("installs", snapshot.installs);
  visit("gpus", snapshot.gpus);
  visit("pci_functions", snapshot.pci_functions);
  visit("device_nodes", snapshot.device_nodes);
  visit("holders", snapshot.holders);
  visit("command_line", snapshot.command_line);
  visit("secure_boot", snapshot.secure_boot);
  visit("lockdown", snapshot.lockdown);
  visit("kernel_log", snapshot.kernel_log);
  visit("kernels", snapshot.kernels);
  visit("next_kernel", snapshot.next_kernel);
  visit("dkms", snapshot.dkms);
  visit("boot_builders", snapshot.boot_builders);
  visit("reboot_required", snapshot.reboot_required);
  visit("runtime", snapshot.runtime);
  visit("cdi_specs", snapshot.cdi_specs);
  visit("kubelet", snapshot.kubelet);
}

/// false: the agent says nothing of this fact at all, because it is older than the fact.
template <class T>
bool is_reported(const Fact<T>& fact) {
  return !fact.is_unknown() || fact.why().code != ErrorCode::Unsupported || !fact.source().empty();
}

}  // namespace gpuskew
