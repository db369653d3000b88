#include "agent/take_snapshot.h"

#include <string>
#include <utility>

#include "agent/probes/device_nodes.h"
#include "agent/probes/driver_container.h"
#include "agent/probes/jetson.h"
#include "agent/probes/kernel.h"
#include "agent/probes/libraries.h"
#include "agent/probes/loaded_module.h"
#include "agent/probes/module_file.h"
#include "agent/probes/os.h"
#include "agent/probes/pci.h"
#include "agent/probes/pod_root.h"

namespace gpuskew {
namespace {

// The facts that come from the host's file system rather than from its kernel.
void read_file_system_facts(const HostRoot& root, ReadCache& cache, std::size_t search_price, Snapshot& snapshot) {
  if (const auto why = pod_root_error(root)) {
    snapshot.os = Fact<OsIdentity>::unknown(*why, "/");
    snapshot.module_file = Fact<ModuleFile>::unknown(*why, "/");
    snapshot.libraries = Fact<std::vector<Library>>::unknown(*why, "/");
    snapshot.driver_container = Fact<DriverContainer>::unknown(*why, "/");
    snapshot.device_nodes = Fact<std::vector<DeviceNode>>::unknown(*why, "/");
    snapshot.kubelet = Fact<KubeletDevices>::unknown(*why, "/");
    snapshot.holders = Fact<DeviceHolders>::unknown(*why, "/");
    return;
  }
  snapshot.os = read_os(root);
  snapshot.module_file = read_module_file(root, snapshot.kernel, &cache.versions);
  snapshot.libraries = read_libraries(root);
  snapshot.driver_container = read_driver_container(root);
  snapshot.device_nodes = read_device_nodes(root);
  snapshot.kubelet = cache.kubelet.read(root);
  const HolderQuestion question{snapshot.device_nodes, snapshot.modules, cache.kubelet.pods_with_devices()};
  snapshot.holders = cache.holders.read(root, question, snapshot.taken_at, search_price);
}

void read_kernel_facts(const HostRoot& root, ReadCache& cache, Snapshot& snapshot) {
  snapshot.boot_id = read_boot_id(root);
  snapshot.boot_time = read_boot_time(root);
  snapshot.kernel = read_kernel_release(root);
  snapshot.architecture = read_architecture(root, snapshot.kernel);
  snapshot.command_line = read_command_line(root);
  snapshot.secure_boot = cache.secure_boot.read(root, snapshot.boot_id);
  snapshot.lockdown = read_lockdown(root);
  snapshot.modules = read_kernel_modules(root, cache.module_states, snapshot.taken_at);
}

}  // namespace

Snapshot take_snapshot(const HostRoot& root, std::string_view node, std::string_view agent_version, Time now,
                       ReadCache* cache) {
  ReadCache only_once;
  ReadCache& remembered = cache != nullptr ? *cache : only_once;
  Snapshot snapshot;
  snapshot.node = node;
  snapshot.agent_version = agent_version;
  snapshot.taken_at = now;
  read_kernel_facts(root, remembered, snapshot);
  const LoadedModule module = read_loaded_module(root);
  snapshot.loaded_driver = module.version;
  snapshot.loaded_flavour = module.flavour;
  snapshot.l4t_release = read_l4t_release(root, snapshot.kernel);
  PciDevices pci = read_pci(root);
  snapshot.gpus = std::move(pci.gpus);
  snapshot.pci_functions = std::move(pci.functions);
  read_file_system_facts(root, remembered, cache != nullptr ? kSearchPrice : kWholeSearch, snapshot);
  return snapshot;
}

}  // namespace gpuskew
