#pragma once

// What containerd makes of its configuration files, in the part that runs containers for the kubelet (its CRI plugin).
// Pure: files in, meaning out. Compared with `containerd config dump` in the tests.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/probes/containerd_files.h"
#include "agent/probes/go_build_info.h"
#include "core/facts/runtime.h"
#include "core/result.h"

namespace gpuskew {

/// Those that a containerd of this version may follow: one, or several where the version does not tell.
std::vector<ContainerdRules> possible_rules(const ContainerdVersion& version);

struct ContainerdMerge {
  std::uint32_t version = 0;
  std::vector<RuntimeHandler> handlers;  ///< NVIDIA's, at most ContainerRuntime::kMaxItems
  /// As `containerd config dump` tells it. The table default_runtime of 1.x, deprecated since 1.3, changes nothing
  /// here: which releases heed it is disputed. It is among the handlers, as "default".
  std::string default_runtime;
  std::optional<bool> enable_cdi;         ///< nullopt: not set
  bool cri_disabled = false;              ///< the plugin is among disabled_plugins: no handler is
  std::vector<ConfigConflict> conflicts;  ///< that concern NVIDIA, at most ContainerRuntime::kMaxItems

  /// The same way to hand out GPUs.
  bool agrees_with(const ContainerdMerge& other) const {
    return handlers == other.handlers && default_runtime == other.default_runtime && enable_cdi == other.enable_cdi &&
           cri_disabled == other.cri_disabled && conflicts == other.conflicts;
  }
};

/// Malformed when such a containerd refuses these files.
Result<ContainerdMerge> merge_containerd(const std::vector<ContainerdFile>& files, ContainerdRules rules);

/// Whether a file says anything about NVIDIA.
bool mentions_nvidia(const ContainerdFile& file);
/// Whether a file, by itself, defines one of NVIDIA's handlers under any name of the CRI plugin.
bool defines_nvidia_handler(const ContainerdFile& file);

}  // namespace gpuskew
