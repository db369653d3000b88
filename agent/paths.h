#pragma once

// Paths beneath the host root that are read, or watched for changes, outside the probes; and one that is written.

#include <array>
#include <string_view>

namespace gpuskew {

inline constexpr std::string_view kHostNameFile = "/etc/hostname";
inline constexpr std::string_view kKernelHostName = "/proc/sys/kernel/hostname";

inline constexpr std::string_view kKmsg = "/dev/kmsg";
/// Where journald keeps its files, in a directory for each machine id: on disk, or until the disk is there.
inline constexpr std::array<std::string_view, 2> kJournalDirectories{"/var/log/journal", "/run/log/journal"};

inline constexpr std::string_view kProcesses = "/proc";
inline constexpr std::string_view kPciDevices = "/sys/bus/pci/devices";
inline constexpr std::string_view kModuleTrees = "/lib/modules";
/// Where a kernel's own partition or the EFI system partition may be mounted.
inline constexpr std::array<std::string_view, 3> kBootPartitions{"/boot", "/boot/efi", "/efi"};
inline constexpr std::string_view kDkmsTree = "/var/lib/dkms";

/// Where nfd-worker reads feature files. The agent's own path, not beneath the host root: a container has the host
/// read-only, and this directory mounted beside it.
inline constexpr std::string_view kNfdFeatureDirectory = "/etc/kubernetes/node-feature-discovery/features.d";

/// What holds the files that every probe reads, whatever the node looks like. Not dev: every program that has written
/// to dev/null would wake us, and the driver's nodes come with its module, which the kernel's events tell. Not the
/// package databases: an upgrade of any package would have every fact read ten times a second, and what it brings is
/// seen in the places below.
inline constexpr auto kWatchedPaths = std::to_array<std::string_view>({
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
    "/run/nvidia/validations",
    "/var/lib/nvidia",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib64",
    "/boot",
    "/boot/grub",
    "/boot/grub2",
    "/boot/loader/entries",
    "/boot/efi/loader/entries",
    "/efi/loader/entries",
    "/sys/firmware/efi/efivars",
    kDkmsTree,
    "/var/lib/kubelet/device-plugins",
    "/etc/containerd",
    "/etc/containerd/conf.d",
    "/etc/crio",
    "/etc/crio/crio.conf.d",
    "/etc/cdi",
    "/var/run/cdi",
});

/// Beneath a kernel's module tree, where distributions, dkms and drivers put nvidia.ko.
inline constexpr std::array<std::string_view, 6> kModuleFolders{
    "", "/updates", "/updates/dkms", "/extra", "/weak-updates", "/kernel/drivers/video",
};

}  // namespace gpuskew
