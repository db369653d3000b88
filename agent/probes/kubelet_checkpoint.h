#pragma once

// The two files in which the kubelet keeps what it gave to whom: the device manager's checkpoint (device plugins) and
// the state of dynamic resource allocation (claims).

#include <cstddef>
#include <istream>
#include <string_view>
#include <vector>

#include "core/facts/kubelet.h"
#include "core/result.h"

namespace gpuskew {

/// Pods or resources past this many in one file are TooLarge.
inline constexpr std::size_t kMaxGrants = 4096;

/// NVIDIA's share of a file: resources nvidia.com/..., and those of another name whose devices are NVIDIA's by their
/// ids
/// ("GPU-...", "MIG-...": virtual GPUs of other schedulers). Sorted.
struct KubeletGrants {
  std::vector<PluginResource> registered;
  std::vector<PodDevices> pods;

  bool operator==(const KubeletGrants&) const = default;
};

/// kubelet_internal_checkpoint, with DeviceIDs as a list (before Kubernetes 1.20) or by NUMA node. Its checksum is of
/// Go's memory, and is not checked. Errors: Malformed, TooLarge.
Result<KubeletGrants> parse_device_checkpoint(std::istream& file);

/// dra_manager_state: the pods of claims that NVIDIA's GPU driver serves, with that driver's name as the resource and
/// no container. Errors: Malformed, TooLarge.
Result<KubeletGrants> parse_claim_state(std::istream& file);

}  // namespace gpuskew
