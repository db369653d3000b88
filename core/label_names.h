#pragma once

// Names of node labels: ours, and the standard ones of NFD, GFD and the gpu-operator that we read and may write.

#include <array>
#include <string_view>

namespace gpuskew {

/// Everything beneath this prefix is ours alone.
inline constexpr std::string_view kOwnLabelPrefix = "gpuskew.io/";

inline constexpr std::string_view kKernelLabel = "gpuskew.io/kernel";                   ///< NFD's form
inline constexpr std::string_view kOsLabel = "gpuskew.io/os";                           ///< os-release ID
inline constexpr std::string_view kOsVersionLabel = "gpuskew.io/os-version";            ///< os-release VERSION_ID
inline constexpr std::string_view kDriverVersionLabel = "gpuskew.io/driver-version";    ///< of the loaded module
inline constexpr std::string_view kDriverBranchLabel = "gpuskew.io/driver-branch";      ///< "550"
inline constexpr std::string_view kDriverFlavourLabel = "gpuskew.io/driver-flavour";    ///< "open", "proprietary"
inline constexpr std::string_view kLibraryVersionLabel = "gpuskew.io/library-version";  ///< libnvidia-ml's
inline constexpr std::string_view kInstallKindLabel = "gpuskew.io/install-kind";
inline constexpr std::string_view kNextKernelLabel = "gpuskew.io/next-kernel";
inline constexpr std::string_view kStateLabel = "gpuskew.io/state";  ///< the verdict's word, "unknown" among them
inline constexpr std::string_view kBootIdLabel = "gpuskew.io/boot-id";
/// All of ours that a node may carry.
inline constexpr std::array<std::string_view, 11> kOwnLabels{
    kKernelLabel,         kOsLabel,           kOsVersionLabel,
    kDriverVersionLabel,  kDriverBranchLabel, kDriverFlavourLabel,
    kLibraryVersionLabel, kInstallKindLabel,  kNextKernelLabel,
    kStateLabel,          kBootIdLabel};

inline constexpr std::string_view kGpuPresentLabel = "nvidia.com/gpu.present";
inline constexpr std::string_view kGpuCountLabel = "nvidia.com/gpu.count";  ///< GFD's; only read
inline constexpr std::string_view kCudaDriverMajorLabel = "nvidia.com/cuda.driver.major";
inline constexpr std::string_view kCudaDriverMinorLabel = "nvidia.com/cuda.driver.minor";
inline constexpr std::string_view kCudaDriverRevLabel = "nvidia.com/cuda.driver.rev";
inline constexpr std::string_view kCudaDriverVersionLabel = "nvidia.com/cuda.driver-version.full";
inline constexpr std::string_view kNfdKernelLabel = "feature.node.kubernetes.io/kernel-version.full";
inline constexpr std::string_view kNfdOsLabel = "feature.node.kubernetes.io/system-os_release.ID";
inline constexpr std::string_view kNfdOsVersionLabel = "feature.node.kubernetes.io/system-os_release.VERSION_ID";
inline constexpr std::string_view kUpgradeStateLabel = "nvidia.com/gpu-driver-upgrade-state";

}  // namespace gpuskew
