#pragma once

// NVIDIA's functions on the PCI bus, their device nodes, and who holds those open.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"

namespace gpuskew {

/// A PCI function of vendor 10de that is a GPU: class 0300 (VGA) or 0302 (3D). Bridges, audio, USB functions
/// and NVSwitches are not.
struct Gpu {
  std::string address;  ///< "0000:3b:00.0"
  std::uint16_t device_id = 0;
  Fact<std::string> driver;  ///< "nvidia", "nouveau", "vfio-pci"; absent: no driver is bound

  bool operator==(const Gpu&) const = default;
};

enum class FunctionKind : std::uint8_t {
  NvSwitch,         ///< class 0680 with an NVSwitch's device id: fabric manager has to run
  Bridge,           ///< 06xx else: PCIe and host bridges (Grace, GB10)
  Audio,            ///< 0403
  Usb,              ///< 0c03
  UsbTypeC,         ///< 0c80
  VirtualFunction,  ///< an SR-IOV function of a GPU (vGPU)
  Other,
};
/// "nvswitch", "bridge", "audio", "usb", "usb-type-c", "virtual-function", "other"
std::string_view to_string(FunctionKind kind);
std::optional<FunctionKind> function_kind_from(std::string_view text);

/// A PCI function of vendor 10de that is no GPU.
struct PciFunction {
  std::string address;
  std::uint16_t device_id = 0;
  FunctionKind kind = FunctionKind::Other;

  bool operator==(const PciFunction&) const = default;
};

/// A character device dev/nvidia*.
struct DeviceNode {
  std::string path;  ///< "/dev/nvidia0"
  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  bool operator==(const DeviceNode&) const = default;
};

/// A process that has an NVIDIA device open.
struct DeviceHolder {
  static constexpr std::size_t kMaxDevices = 32;

  std::uint32_t pid = 0;
  std::string command;               ///< proc/<pid>/comm
  std::vector<std::string> devices;  ///< "/dev/nvidia0", at most kMaxDevices
  std::string pod_uid;               ///< "" outside pods
  std::string container_id;          ///< "" outside containers
  std::string unit;                  ///< the systemd unit its cgroup names ("gdm.service"); "" for none
  /// Its pod asked the kubelet for a device; false: it did not (monitoring, privileged pods), or is in no pod.
  bool asked_for_gpu = false;

  bool operator==(const DeviceHolder&) const = default;
};

struct DeviceHolders {
  static constexpr std::size_t kMaxItems = 64;

  std::vector<DeviceHolder> items;  ///< by pid, at most kMaxItems
  std::uint32_t total = 0;          ///< all of them
  std::uint32_t unread = 0;         ///< processes whose descriptors could not be read: they may hold one, too
  std::string unread_why;           ///< "" when unread is 0

  bool operator==(const DeviceHolders&) const = default;
};

}  // namespace gpuskew
