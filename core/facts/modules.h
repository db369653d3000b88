#pragma once

// Kernel modules: files on disk, and what the running kernel holds.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"
#include "core/time.h"
#include "core/version.h"

namespace gpuskew {

/// An nvidia module file of one kernel.
struct ModuleFile {
  std::string path;             ///< beneath the host root
  Fact<DriverVersion> version;  ///< from the file's modinfo
  /// The first word of its vermagic. A weak-updates link may lead to a module of another kernel.
  Fact<KernelRelease> built_for{};
  Fact<ModuleFlavour> flavour{};  ///< by its license: "NVIDIA" is proprietary, "Dual MIT/GPL" is open

  bool operator==(const ModuleFile&) const = default;
};

/// Who puts a module where, told by its path.
enum class ModuleHome : std::uint8_t {
  Dkms,         ///< updates/dkms, and RHEL's extra with a dkms entry is still Extra
  Prebuilt,     ///< kernel/nvidia-<branch>[-open]: Ubuntu's linux-modules-nvidia-*
  Kernel,       ///< kernel/drivers/video: the runfile, vendor images
  Extra,        ///< kmod and akmod packages
  WeakUpdates,  ///< a link to another kernel's module (RHEL, SUSE)
  Updates,
  Other,
};
/// "dkms", "prebuilt", "kernel", "extra", "weak-updates", "updates", "other"
std::string_view to_string(ModuleHome home);
ModuleHome module_home(std::string_view path);

/// The state column of proc/modules.
enum class ModuleState : std::uint8_t { Live, Loading, Unloading, Unknown };
std::string_view to_string(ModuleState state);
std::optional<ModuleState> module_state_from(std::string_view text);

/// One line of proc/modules: nvidia and its siblings, and what else may hold a GPU (nouveau, nova_core, vfio_pci).
struct KernelModule {
  static constexpr std::size_t kMaxUsers = 32;

  std::string name;                       ///< "nvidia_uvm"
  std::optional<std::uint32_t> refcount;  ///< nullopt: the kernel tells none ("-", or -1 while it unloads)
  std::vector<std::string> used_by;       ///< modules, at most kMaxUsers
  ModuleState state = ModuleState::Unknown;
  std::string taints;  ///< "POE"; "OE-" while it unloads
  /// Since when this agent has seen it in a state other than Live; its first sight for a one-time read. Zero when Live.
  Time state_since{};

  bool operator==(const KernelModule&) const = default;
};

}  // namespace gpuskew
