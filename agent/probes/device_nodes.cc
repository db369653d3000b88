#include "agent/probes/device_nodes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/snapshot.h"

namespace gpuskew {
namespace {

constexpr const char* kDevices = "/dev";
constexpr const char* kCapabilities = "/dev/nvidia-caps";

constexpr std::array<std::string_view, 7> kNames{
    "nvidiactl",     "nvidia-modeset",     "nvidia-uvm",     "nvidia-uvm-tools",
    "nvidia-nvlink", "nvidia-nvswitchctl", "nvidia-vgpuctl",
};
constexpr std::array<std::string_view, 5> kNumbered{
    "nvidia", "nvidia-nvswitch", "nvidia-vgpu", "nvidia-caps/nvidia-cap", "nvidia-caps-imex-channels/channel",
};

bool is_numbered(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) {
    return false;
  }
  name.remove_prefix(stem.size());
  constexpr std::size_t kMaxDigits = 9;
  return !name.empty() && name.size() <= kMaxDigits &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Adds the nodes among the entries of one folder beneath dev ("nvidia-caps/"; "": dev itself). An entry that is gone by
// now is none.
Result<void> add_nodes(const HostRoot& root, const std::string& folder, const std::vector<DirectoryEntry>& entries,
                       std::vector<DeviceNode>& nodes) {
  for (const DirectoryEntry& entry : entries) {
    const std::string name = folder + entry.name;
    if (!is_nvidia_device_name(name) || entry.kind != FileKind::CharacterDevice) {
      continue;
    }
    const std::string path = std::string(kDevices) + "/" + name;
    const auto status = root.status(path);
    if (!status && status.error().code == ErrorCode::NotFound) {
      continue;
    }
    if (!status) {
      return tl::unexpected(status.error());
    }
    if (nodes.size() == Snapshot::kMaxDeviceNodes) {
      return fail(ErrorCode::TooLarge, "more than " + std::to_string(Snapshot::kMaxDeviceNodes) + " device nodes");
    }
    nodes.push_back({path, status->device_major, status->device_minor});
  }
  return {};
}

}  // namespace

bool is_nvidia_device_name(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kNumbered.begin(), kNumbered.end(), [name](auto stem) { return is_numbered(name, stem); });
}

Fact<std::vector<DeviceNode>> read_device_nodes(const HostRoot& root) {
  using Nodes = Fact<std::vector<DeviceNode>>;
  const auto devices = root.list(kDevices);
  if (!devices || devices->empty()) {
    return Nodes::unknown(
        devices ? Error{ErrorCode::NotFound, "listing /dev: empty, so devtmpfs is not there"} : devices.error(),
        kDevices);
  }
  std::vector<DeviceNode> nodes;
  auto added = add_nodes(root, "", *devices, nodes);
  const auto capabilities = root.list(kCapabilities);
  if (!capabilities && capabilities.error().code != ErrorCode::NotFound) {
    return Nodes::unknown(capabilities.error(), kCapabilities);
  }
  if (added && capabilities) {
    added = add_nodes(root, "nvidia-caps/", *capabilities, nodes);
  }
  if (!added) {
    return Nodes::unknown(added.error(), kDevices);
  }
  return Nodes::known(std::move(nodes), kDevices);
}

}  // namespace gpuskew
