#include "core/snapshot.h"

#include <tuple>

namespace gpuskew {
namespace {

auto facts_of(const Snapshot& s) {
  return std::tie(s.node, s.agent_version, s.boot_id, s.boot_time, s.kernel, s.architecture, s.os, s.loaded_driver,
                  s.loaded_flavour, s.l4t_release, s.wsl, s.module_file, s.modules, s.libraries, s.fabric_manager,
                  s.driver_container, s.validations, s.installs, s.gpus, s.pci_functions, s.device_nodes, s.holders,
                  s.command_line, s.secure_boot, s.lockdown, s.kernel_log, s.kernels, s.next_kernel, s.dkms,
                  s.boot_builders, s.reboot_required, s.runtime, s.cdi_specs, s.kubelet, s.expected_gpus, s.remembered);
}

}  // namespace

bool Snapshot::same_facts(const Snapshot& other) const {
  return facts_of(*this) == facts_of(other);
}

std::optional<LastGood> good_state(const Snapshot& snapshot) {
  // A driver without the kernel it ran on could not prove "after a kernel bump".
  if (!snapshot.loaded_driver.is_known() || !snapshot.kernel.is_known()) {
    return std::nullopt;
  }
  LastGood good;
  good.at = snapshot.taken_at;
  good.boot_id = snapshot.boot_id.is_known() ? *snapshot.boot_id : "";
  good.kernel = *snapshot.kernel;
  good.driver = *snapshot.loaded_driver;
  if (snapshot.gpus.is_known()) {
    good.gpu_count = static_cast<std::uint32_t>(snapshot.gpus->size());
    for (const Gpu& gpu : snapshot.gpus.value()) {
      good.gpus.push_back(gpu.address);
    }
  }
  good.from_container = snapshot.driver_container.is_known() && snapshot.driver_container->mounted;
  return good;
}

void keep_known_gpus(const std::optional<LastGood>& before, LastGood& good) {
  if (before && good.gpu_count.value_or(0) < before->gpu_count.value_or(0)) {
    good.gpu_count = before->gpu_count;
    good.gpus = before->gpus;
  }
}

}  // namespace gpuskew
