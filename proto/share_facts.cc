#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"

namespace gpuskew {

void share_facts(Snapshot& snapshot, const FieldHash& hash_of, FactPool& pool) {
  const auto share = [&](int field, auto& fact) {
    if (const std::optional<std::uint64_t> hash = hash_of(field)) {
      pool.share(fact, *hash);
    }
  };
  using Wire = v1::Snapshot;
  share(Wire::kKernelFieldNumber, snapshot.kernel);
  share(Wire::kArchitectureFieldNumber, snapshot.architecture);
  share(Wire::kOsFieldNumber, snapshot.os);
  share(Wire::kLoadedDriverFieldNumber, snapshot.loaded_driver);
  share(Wire::kLoadedFlavourFieldNumber, snapshot.loaded_flavour);
  share(Wire::kL4TReleaseFieldNumber, snapshot.l4t_release);
  share(Wire::kWslFieldNumber, snapshot.wsl);
  share(Wire::kModuleFileFieldNumber, snapshot.module_file);
  share(Wire::kModulesFieldNumber, snapshot.modules);
  share(Wire::kLibrariesFieldNumber, snapshot.libraries);
  share(Wire::kFabricManagerFieldNumber, snapshot.fabric_manager);
  share(Wire::kDriverContainerFieldNumber, snapshot.driver_container);
  share(Wire::kInstallsFieldNumber, snapshot.installs);
  share(Wire::kGpusFieldNumber, snapshot.gpus);
  share(Wire::kPciFunctionsFieldNumber, snapshot.pci_functions);
  share(Wire::kDeviceNodesFieldNumber, snapshot.device_nodes);
  share(Wire::kCommandLineFieldNumber, snapshot.command_line);
  share(Wire::kSecureBootFieldNumber, snapshot.secure_boot);
  share(Wire::kLockdownFieldNumber, snapshot.lockdown);
  share(Wire::kKernelsFieldNumber, snapshot.kernels);
  share(Wire::kNextKernelFieldNumber, snapshot.next_kernel);
  share(Wire::kDkmsFieldNumber, snapshot.dkms);
  share(Wire::kBootBuildersFieldNumber, snapshot.boot_builders);
  share(Wire::kRebootRequiredFieldNumber, snapshot.reboot_required);
  share(Wire::kCdiSpecsFieldNumber, snapshot.cdi_specs);
}

}  // namespace gpuskew
