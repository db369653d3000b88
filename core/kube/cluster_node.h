#pragma once

// A node as the Kubernetes API has it: what its labels, its kubelet and its resources say. No agent is needed for it,
// and none of it is proof: labels outlive what they tell of.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/label.h"
#include "core/time.h"

namespace gpuskew {

/// How many of a resource a node has; nullopt: not said, or not a count.
struct ClusterResource {
  std::optional<std::uint64_t> capacity;     ///< devices that are registered
  std::optional<std::uint64_t> allocatable;  ///< those of them that are healthy, in use or not

  bool operator==(const ClusterResource&) const = default;
};

struct ClusterTaint {
  std::string key;
  std::string value;
  std::string effect;  ///< "NoSchedule", ...

  bool operator==(const ClusterTaint&) const = default;
};

/// What the kubelet says of the system it runs on; "" is not said.
struct ClusterNodeInfo {
  std::string kernel_version;  ///< uname's release, raw
  std::string os_image;        ///< PRETTY_NAME: prose
  std::string architecture;    ///< Go's word: "amd64", "arm64"
  std::string boot_id;
  std::string kubelet_version;
  std::string operating_system;  ///< "linux"

  bool operator==(const ClusterNodeInfo&) const = default;
};

enum class NodeReady : std::uint8_t { Yes, No, Unknown };
/// "yes", "no", "unknown"
std::string_view to_string(NodeReady ready);

struct ClusterNode {
  static constexpr std::size_t kMaxTaints = 64;
  static constexpr std::size_t kMaxResources = 256;

  std::string name;
  std::string uid;
  Labels labels;  ///< those is_wanted_label() takes
  ClusterNodeInfo info;
  NodeReady ready = NodeReady::Unknown;  ///< its condition Ready
  std::optional<Time> ready_since;       ///< since when it is what it is
  bool unschedulable = false;            ///< cordoned
  std::vector<ClusterTaint> taints;
  std::map<std::string, ClusterResource, std::less<>>
      gpu_resources;  ///< "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", ...

  /// nullptr when the node does not have it.
  const std::string* label(std::string_view key) const;

  bool operator==(const ClusterNode&) const = default;
};

/// By name.
using ClusterNodes = std::map<std::string, ClusterNode, std::less<>>;

/// Whether gpuskew looks at a label; a node of a large cluster has a hundred others.
bool is_wanted_label(std::string_view key);
/// "nvidia.com/...", with MIG devices and shared GPUs.
bool is_gpu_resource(std::string_view name);

/// The sign by which this is a GPU node ("label nvidia.com/gpu.present=true"); nullopt: there is none, which proves
/// nothing: labels can be missing.
std::optional<std::string> gpu_sign(const ClusterNode& node);

/// The word of nvidia.com/gpu-driver-upgrade-state; "none" without one.
std::string upgrade_state(const ClusterNode& node);

/// Why a Ready GPU node can not give all its GPUs to pods, one sentence; nullopt: it can, or the node does not say. No
/// proof that they are gone: a device plugin that restarts looks the same for a moment.
std::optional<std::string> gpu_trouble(const ClusterNode& node);

/// What in the node's own words does not fit together, one sentence each: a kernel label that is not the kubelet's
/// kernel, two writers of labels at odds, gpu_trouble(). Empty: nothing such.
std::vector<std::string> contradictions(const ClusterNode& node);

}  // namespace gpuskew
