#include "agent/take_snapshot.h"

#include <string>

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
void read_file_system_facts(const HostRoot& root, ModuleVersionCache* versions, Snapshot& snapshot) {
  if (const auto why = pod_root_error(root)) {
    snapshot.os = Fact<OsIdentity>::unknown(*why, "/");
    snapshot.module_file = Fact<ModuleFile>::unknown(*why, "/");
    snapshot.libraries = Fact<std::vector<Library>>::unknown(*why, "/");
    snapshot.driver_container = Fact<DriverContainer>::unknown(*why, "/");
    return;
  }
  snapshot.os = read_os(root);
  snapshot.module_file = read_module_file(root, snapshot.kernel, versions);
  snapshot.libraries = read_libraries(root);
  snapshot.driver_container = read_driver_container(root);
}

}  // namespace

Snapshot take_snapshot(const HostRoot& root, std::string_view node, std::string_view agent_version, Time now,
                       ModuleVersionCache* versions) {
  Snapshot snapshot;
  snapshot.node = node;
  snapshot.agent_version = agent_version;
  snapshot.taken_at = now;
  snapshot.boot_id = read_boot_id(root);
  snapshot.boot_time = read_boot_time(root);
  snapshot.kernel = read_kernel_release(root);
  snapshot.architecture = read_architecture(root, snapshot.kernel);
  const LoadedModule module = read_loaded_module(root);
  snapshot.loaded_driver = module.version;
  snapshot.loaded_flavour = module.flavour;
  snapshot.l4t_release = read_l4t_release(root, snapshot.kernel);
  snapshot.gpus = read_gpus(root);
  read_file_system_facts(root, versions, snapshot);
  return snapshot;
}

}  // namespace gpuskew
