#pragma once

#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/facts/devices.h"

namespace gpuskew {

/// Whether the driver gives a device node this name beneath dev: "nvidia0", "nvidiactl", "nvidia-uvm-tools",
/// "nvidia-caps/nvidia-cap1", "nvidia-caps-imex-channels/channel0".
bool is_nvidia_device_name(std::string_view name);

/// Character devices dev/nvidia* and those of MIG in dev/nvidia-caps, by path. Not dev/nvidia-caps-imex-channels: it
/// may hold thousands, and they say nothing of this node's GPUs. A file or directory of such a name is no node
/// (container engines make directories where a mount's source was missing). Unknown past Snapshot::kMaxDeviceNodes, and
/// where dev is empty.
Fact<std::vector<DeviceNode>> read_device_nodes(const HostRoot& root);

}  // namespace gpuskew
