#include "agent/take_snapshot.h"

#include <string>
#include <utility>

#include "agent/probes/boot_marks.h"
#include "agent/probes/device_nodes.h"
#include "agent/probes/dkms.h"
#include "agent/probes/driver_container.h"
#include "agent/probes/fabric_manager.h"
#include "agent/probes/installs.h"
#include "agent/probes/jetson.h"
#include "agent/probes/kernel.h"
#include "agent/probes/kernels.h"
#include "agent/probes/libraries.h"
#include "agent/probes/loaded_module.h"
#include "agent/probes/module_file.h"
#include "agent/probes/next_kernel.h"
#include "agent/probes/os.h"
#include "agent/probes/pci.h"
#include "agent/probes/pod_root.h"
#include "agent/probes/validations.h"
#include "agent/probes/wsl.h"

namespace gpuskew {
namespace {

template <class... Facts>
void hide(const Error& why, Facts&... facts) {
  ((facts = Facts::unknown(why, "/")), ...);
}

void read_kernel_facts(const HostRoot& root, ReadCache& cache, Snapshot& snapshot) {
  snapshot.boot_id = read_boot_id(root);
  snapshot.boot_time = read_boot_time(root);
  snapshot.kernel = read_kernel_release(root);
  snapshot.architecture = read_architecture(root, snapshot.kernel);
  snapshot.command_line = read_command_line(root);
  snapshot.secure_boot = cache.secure_boot.read(root, snapshot.boot_id);
  snapshot.lockdown = read_lockdown(root);
  LoadedModule module = read_loaded_module(root);
  snapshot.loaded_driver = std::move(module.version);
  snapshot.loaded_flavour = std::move(module.flavour);
  snapshot.modules = read_kernel_modules(root, cache.module_states, snapshot.taken_at);
  PciDevices pci = read_pci(root, cache.pci);
  snapshot.gpus = std::move(pci.gpus);
  snapshot.pci_functions = std::move(pci.functions);
}

void read_driver_facts(const HostRoot& root, ReadCache& cache, Snapshot& snapshot) {
  snapshot.module_file = read_module_file(root, snapshot.kernel, cache.modules);
  snapshot.libraries = read_libraries(root);
  snapshot.driver_container = read_driver_container(root);
  snapshot.validations = read_validations(root);
  const InstallContext context{snapshot.os, snapshot.module_file, snapshot.libraries, snapshot.driver_container};
  snapshot.installs = read_installs(root, context, &cache.packages);
  snapshot.fabric_manager = read_fabric_manager(root, snapshot.installs, snapshot.driver_container, &cache.packages);
}

void read_next_boot(const HostRoot& root, ModuleCache& modules, Snapshot& snapshot) {
  NextBootEntry next = read_next_boot_entry(root);
  snapshot.kernels = read_kernels(root, modules);
  if (next.is_other_deployment && snapshot.kernels.is_known()) {
    snapshot.kernels = without_modules_of(*next.kernel, snapshot.kernels);
  }
  snapshot.next_kernel = std::move(next.kernel);
  snapshot.dkms = read_dkms(root);
  snapshot.boot_builders = read_boot_builders(root);
  snapshot.reboot_required = read_reboot_required(root);
}

void read_holders(const HostRoot& root, Time now, ReadCache& cache, std::size_t search_price, Snapshot& snapshot) {
  const HolderQuestion question{snapshot.device_nodes, snapshot.modules, cache.kubelet.pods_with_devices()};
  snapshot.holders = cache.holders.read(root, question, now, search_price);
}

void read_users(const HostRoot& root, ReadCache& cache, std::size_t search_price, Snapshot& snapshot) {
  snapshot.device_nodes = read_device_nodes(root);
  snapshot.kubelet = cache.kubelet.read(root);
  read_holders(root, snapshot.taken_at, cache, search_price, snapshot);
  snapshot.runtime = read_container_runtime(root, snapshot.boot_time, &cache.runtime);
  snapshot.cdi_specs = read_cdi_specs(root, &cache.cdi_specs);
}

// The facts that come from the host's file system rather than from its kernel.
void hide_file_system_facts(const Error& why, Snapshot& s) {
  hide(why, s.os, s.module_file, s.libraries, s.driver_container, s.validations, s.installs, s.fabric_manager,
       s.kernels, s.next_kernel, s.dkms, s.boot_builders, s.reboot_required, s.device_nodes, s.kubelet, s.holders,
       s.runtime, s.cdi_specs);
}

}  // namespace

Snapshot take_snapshot(const HostRoot& root, std::string_view node, std::string_view agent_version, Time now,
                       ReadCache* cache) {
  ReadCache only_once;
  ReadCache& remembered = cache != nullptr ? *cache : only_once;
  remembered.modules.begin_pass();
  Snapshot snapshot;
  snapshot.node = node;
  snapshot.agent_version = agent_version;
  snapshot.taken_at = now;
  read_kernel_facts(root, remembered, snapshot);
  snapshot.l4t_release = read_l4t_release(root, snapshot.kernel);
  snapshot.wsl = read_wsl(root, snapshot.kernel);
  if (const auto why = pod_root_error(root)) {
    hide_file_system_facts(*why, snapshot);
    return snapshot;
  }
  snapshot.os = read_os(root);
  read_driver_facts(root, remembered, snapshot);
  read_next_boot(root, remembered.modules, snapshot);
  read_users(root, remembered, cache != nullptr ? kSearchPrice : kWholeSearch, snapshot);
  return snapshot;
}

void search_on(const HostRoot& root, Time now, ReadCache& cache, Snapshot& snapshot) {
  read_holders(root, now, cache, kSearchPrice, snapshot);
}

}  // namespace gpuskew
