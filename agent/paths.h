#pragma once

// Paths beneath the host root that are read, or watched for changes, outside the probes.

#include <array>
#include <string_view>

namespace gpuskew {

inline constexpr std::string_view kHostNameFile = "/etc/hostname";
inline constexpr std::string_view kKernelHostName = "/proc/sys/kernel/hostname";

inline constexpr std::string_view kPciDevices = "/sys/bus/pci/devices";
inline constexpr std::string_view kModuleTrees = "/lib/modules";

/// What holds the files that every probe reads, whatever the node looks like. Not dev: every program that has written
/// to dev/null would wake us, and the driver's nodes come with its module, which the kernel's events tell.
inline constexpr std::array<std::string_view, 20> kWatchedPaths{
    "/proc",
    "/proc/driver/nvidia",
    "/proc/sys/kernel",
    "/proc/sys/kernel/random",
    "/sys/module",
    "/sys/module/nvidia",
    "/sys/bus/pci",
    kPciDevices,
    "/etc",
    "/etc/os-release",
    kModuleTrees,
    "/run/nvidia",
    "/run/nvidia/driver",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib64",
    "/var/lib/kubelet/device-plugins",
};

/// Beneath a kernel's module tree, where distributions, dkms and drivers put nvidia.ko.
inline constexpr std::array<std::string_view, 6> kModuleFolders{
    "", "/updates", "/updates/dkms", "/extra", "/weak-updates", "/kernel/drivers/video",
};

}  // namespace gpuskew
