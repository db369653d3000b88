#pragma once

// One node's facts at one instant, as the agent read them and the judge takes them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fact.h"
#include "core/facts/devices.h"
#include "core/facts/install.h"
#include "core/facts/kernel_log.h"
#include "core/facts/kubelet.h"
#include "core/facts/modules.h"
#include "core/facts/next_boot.h"
#include "core/facts/runtime.h"
#include "core/os_release.h"
#include "core/time.h"
#include "core/version.h"

namespace gpuskew {

enum class DriverRoot : std::uint8_t { Host, Container };

/// A user-space library that must equal the loaded module's version exactly.
struct Library {
  std::string name;  ///< "libnvidia-ml", "libcuda"
  DriverVersion version;
  std::string path;
  DriverRoot root = DriverRoot::Host;

  bool operator==(const Library&) const = default;
};

/// The gpu-operator's driver container on this node.
struct DriverContainer {
  std::string root;      ///< "/run/nvidia/driver"
  bool mounted = false;  ///< its file system is there: a driver was loaded from it. false: still at work

  bool operator==(const DriverContainer&) const = default;
};

/// The last moment at which the nvidia module was seen loaded: what makes "after a kernel bump" provable.
struct LastGood {
  Time at{};
  std::string boot_id;  ///< "" when it could not be read
  KernelRelease kernel;
  DriverVersion driver;
  std::optional<std::uint32_t> gpu_count;  ///< nullopt: unknown then
  bool from_container = false;             ///< the driver came from the operator's driver container
  std::vector<std::string> gpus{};         ///< their PCI addresses; empty: not known then

  bool operator==(const LastGood&) const = default;
};

struct Snapshot {
  static constexpr std::size_t kMaxGpus = 256;
  static constexpr std::size_t kMaxPciFunctions = 256;
  static constexpr std::size_t kMaxLibraries = 32;
  static constexpr std::size_t kMaxKernels = 64;
  static constexpr std::size_t kMaxDkmsEntries = 64;
  static constexpr std::size_t kMaxBootBuilders = 8;
  static constexpr std::size_t kMaxModules = 32;
  static constexpr std::size_t kMaxDeviceNodes = 300;

  std::string node;
  std::string agent_version;
  Time taken_at{};

  Fact<std::string> boot_id;
  Fact<Time> boot_time;
  Fact<KernelRelease> kernel;
  Fact<std::string> architecture;  ///< "x86_64", "aarch64"
  Fact<OsIdentity> os;

  Fact<DriverVersion> loaded_driver;        ///< absent: no nvidia module is loaded
  Fact<ModuleFlavour> loaded_flavour;       ///< absent with it
  Fact<std::string> l4t_release;            ///< known on Jetson: this kind of driver is not judged
  Fact<std::string> wsl;                    ///< known in WSL2 (the kernel's release): the driver is Windows'
  Fact<ModuleFile> module_file;             ///< absent: no nvidia module file for this kernel
  Fact<std::vector<KernelModule>> modules;  ///< nvidia's and their rivals' in the running kernel; known and empty: none
  Fact<std::vector<Library>> libraries;     ///< absent: none installed
  Fact<DriverVersion> fabric_manager;       ///< absent: not installed
  Fact<DriverContainer> driver_container;   ///< absent: none
  Fact<std::vector<ValidationMark>> validations;  ///< absent: no such directory
  Fact<std::vector<InstallTrace>> installs;       ///< known and empty: no trace of an installer

  Fact<std::vector<Gpu>> gpus;                   ///< a known empty list: no NVIDIA GPU
  Fact<std::vector<PciFunction>> pci_functions;  ///< NVIDIA's that are no GPUs
  Fact<std::vector<DeviceNode>> device_nodes;    ///< known and empty: none
  Fact<DeviceHolders> holders;                   ///< absent: no device node to hold

  Fact<std::string> command_line;  ///< of the kernel
  Fact<bool> secure_boot;          ///< absent: not an EFI boot
  Fact<std::string> lockdown;      ///< "none", "integrity", "confidentiality"; absent: a kernel without it
  /// This boot's; known and empty: the log was read and names no cause.
  Fact<std::vector<KernelLogEvent>> kernel_log;

  Fact<std::vector<InstalledKernel>> kernels;  ///< by release
  Fact<NextKernel> next_kernel;       ///< absent: no boot loader's configuration (a virtual machine's host boots it)
  Fact<std::vector<DkmsEntry>> dkms;  ///< nvidia's; absent: no dkms tree
  Fact<std::vector<BootBuilder>> boot_builders;  ///< known and empty: none
  Fact<RebootRequired> reboot_required;          ///< absent: no mark

  Fact<ContainerRuntime> runtime;        ///< absent: no container runtime
  Fact<std::vector<CdiSpec>> cdi_specs;  ///< known and empty: none for NVIDIA
  Fact<KubeletDevices> kubelet;          ///< absent: no kubelet here

  /// The operator's word on how many GPUs this node has (agent.yaml); nullopt: what was seen last counts.
  std::optional<std::uint32_t> expected_gpus{};
  /// What the agent itself remembers from its state directory; nullopt when it remembers nothing.
  std::optional<LastGood> remembered;

  /// Equality of everything but taken_at: what "changed" means for the stream.
  bool same_facts(const Snapshot& other) const;
};

/// The good state this snapshot proves, or nullopt when no module is known to be loaded.
std::optional<LastGood> good_state(const Snapshot& snapshot);

/// A report with fewer GPUs must not wipe out that there were more: that is what makes the loss provable. The greater
/// number stays, with its addresses.
void keep_known_gpus(const std::optional<LastGood>& before, LastGood& good);

}  // namespace gpuskew
