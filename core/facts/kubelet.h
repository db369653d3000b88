#pragma once

// What the kubelet knows of devices: its device-plugin directory and checkpoint.

#include <cstdint>
#include <string>
#include <vector>

namespace gpuskew {

/// A resource some device plugin registered ("nvidia.com/gpu", "nvidia.com/mig-1g.10gb").
struct PluginResource {
  std::string name;
  std::uint32_t devices = 0;

  bool operator==(const PluginResource&) const = default;
};

/// Devices the kubelet gave to one container.
struct PodDevices {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::uint32_t devices = 0;

  bool operator==(const PodDevices&) const = default;
};

struct KubeletDevices {
  static constexpr std::size_t kMaxItems = 128;

  std::vector<std::string> sockets;        ///< nvidia's: "nvidia-gpu.sock", at most kMaxItems
  std::vector<PluginResource> registered;  ///< NVIDIA's resources in the checkpoint, at most kMaxItems
  std::vector<PodDevices> pods;            ///< at most kMaxItems

  bool operator==(const KubeletDevices&) const = default;
};

}  // namespace gpuskew
