#pragma once

// One node's facts at one instant, as the agent read them and the judge takes them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fact.h"
#include "core/os_release.h"
#include "core/time.h"
#include "core/version.h"

namespace gpuskew {

/// A PCI function of vendor 10de that is a GPU: class 0300 (VGA) or 0302 (3D). Bridges, audio, USB functions
/// and NVSwitches are not.
struct Gpu {
  std::string address;  ///< "0000:3b:00.0"
  std::uint16_t device_id = 0;
  Fact<std::string> driver;  ///< "nvidia", "nouveau", "vfio-pci"; absent: no driver is bound

  bool operator==(const Gpu&) const = default;
};

/// The nvidia module file for the running kernel.
struct ModuleFile {
  std::string path;             ///< beneath the host root
  Fact<DriverVersion> version;  ///< from the file's modinfo

  bool operator==(const ModuleFile&) const = default;
};

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

  bool operator==(const LastGood&) const = default;
};

struct Snapshot {
  static constexpr std::size_t kMaxGpus = 256;
  static constexpr std::size_t kMaxLibraries = 32;

  std::string node;
  std::string agent_version;
  Time taken_at{};

  Fact<std::string> boot_id;
  Fact<Time> boot_time;
  Fact<KernelRelease> kernel;
  Fact<std::string> architecture;  ///< "x86_64", "aarch64"
  Fact<OsIdentity> os;

  Fact<DriverVersion> loaded_driver;       ///< absent: no nvidia module is loaded
  Fact<ModuleFlavour> loaded_flavour;      ///< absent with it
  Fact<std::string> l4t_release;           ///< known on Jetson: this kind of driver is not judged
  Fact<ModuleFile> module_file;            ///< absent: no nvidia module file for this kernel
  Fact<std::vector<Library>> libraries;    ///< absent: none installed
  Fact<DriverContainer> driver_container;  ///< absent: none
  Fact<std::vector<Gpu>> gpus;             ///< a known empty list: no NVIDIA GPU

  /// What the agent itself remembers from its state directory; nullopt when it remembers nothing.
  std::optional<LastGood> remembered;

  /// Equality of everything but taken_at: what "changed" means for the stream.
  bool same_facts(const Snapshot& other) const;
};

/// The good state this snapshot proves, or nullopt when no module is known to be loaded.
std::optional<LastGood> good_state(const Snapshot& snapshot);

}  // namespace gpuskew
