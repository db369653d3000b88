#include "agent/probes/package_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuskew {
namespace {

using enum InstallKind;
using enum InstallPart;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t kSize>
bool is_one_of(std::string_view name, const std::array<std::string_view, kSize>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "nvidia-driver-550-server", but neither "nvidia-driver-assistant" nor "nvidia-driver-local-repo-...".
template <std::size_t kSize>
bool has_branch(std::string_view name, const std::array<std::string_view, kSize>& stems) {
  return std::any_of(stems.begin(), stems.end(), [name](std::string_view stem) {
    return name.size() > stem.size() && name.starts_with(stem) && is_digit(name[stem.size()]);
  });
}

constexpr std::array<std::string_view, 2> kFabricManager = {"nvidia-fabricmanager", "nvidia-fabric-manager"};
constexpr std::array<std::string_view, 2> kFabricManagerBranch = {"nvidia-fabricmanager-", "nvidia-fabric-manager-"};

constexpr std::array<std::string_view, 2> kDebPrebuilt = {"linux-modules-nvidia-", "linux-objects-nvidia-"};
constexpr std::array<std::string_view, 1> kDebModules = {"nvidia-dkms-"};
constexpr std::array<std::string_view, 3> kDebModuleNames = {"nvidia-kernel-dkms", "nvidia-open-kernel-dkms",
                                                             "nvidia-kernel-open-dkms"};
constexpr std::array<std::string_view, 7> kDebUserSpace = {
    "nvidia-driver-", "nvidia-headless-", "nvidia-headless-no-dkms-", "nvidia-open-",
    "cuda-drivers-",  "nvidia-utils-",    "libnvidia-compute-"};
constexpr std::array<std::string_view, 7> kDebUserSpaceNames = {
    "nvidia-driver", "nvidia-driver-bin", "nvidia-driver-cuda", "nvidia-open",
    "cuda-drivers",  "libcuda1",          "libnvidia-ml1"};

constexpr std::array<std::string_view, 2> kRpmUserSpace = {"nvidia-open-", "cuda-drivers-"};
constexpr std::array<std::string_view, 3> kRpmUserSpaceNames = {"nvidia-open", "cuda-drivers", "libnvidia-ml"};
constexpr std::array<std::string_view, 3> kRpmUserSpaceStems = {"nvidia-driver", "xorg-x11-drv-nvidia",
                                                                "nvidia-compute"};
constexpr std::array<std::string_view, 6> kRpmNoDriver = {"-devel", "-repo", "-assistant", "-kmp", "-fs", "-selinux"};

// Debian's branches that live beside the main one: nvidia-tesla-470-driver, nvidia-legacy-390xx-kernel-dkms.
std::optional<PackageRole> debian_branch_role(std::string_view name) {
  if (!name.starts_with("nvidia-tesla-") && !name.starts_with("nvidia-legacy-")) {
    return std::nullopt;
  }
  if (name.ends_with("-kernel-dkms")) {
    return PackageRole{Deb, KernelModule};
  }
  return name.ends_with("-driver") ? std::optional(PackageRole{Deb, UserSpace}) : std::nullopt;
}

std::optional<InstallTrace> trace(std::optional<PackageRole> role, std::string name, std::string version,
                                  std::string source) {
  if (!role) {
    return std::nullopt;
  }
  return InstallTrace{role->kind, role->part, std::move(name), std::move(version), std::move(source)};
}

}  // namespace

std::optional<PackageRole> deb_role(std::string_view name) {
  if (is_one_of(name, kFabricManager) || has_branch(name, kFabricManagerBranch)) {
    return PackageRole{Deb, FabricManager};
  }
  if (has_branch(name, kDebPrebuilt)) {
    return PackageRole{Prebuilt, KernelModule};
  }
  if (has_branch(name, kDebModules) || is_one_of(name, kDebModuleNames)) {
    return PackageRole{Deb, KernelModule};
  }
  if (has_branch(name, kDebUserSpace) || is_one_of(name, kDebUserSpaceNames)) {
    return PackageRole{Deb, UserSpace};
  }
  return debian_branch_role(name);
}

std::optional<PackageRole> rpm_role(std::string_view name) {
  if (is_one_of(name, kFabricManager) || has_branch(name, kFabricManagerBranch)) {
    return PackageRole{Rpm, FabricManager};
  }
  if (name.starts_with("akmod-nvidia")) {
    return PackageRole{Akmod, KernelModule};
  }
  // What dkms builds is a package of sources: its module is in dkms's tree.
  const bool of_dkms = name.starts_with("dkms-nvidia") || (name.starts_with("kmod-nvidia") && contains(name, "dkms"));
  if (of_dkms && !contains(name, "-fs")) {
    return PackageRole{Rpm, KernelModule};
  }
  // nvidia-driver-G06-kmp-default, nvidia-open-driver-G06-signed-kmp-default, nvidia-gfxG05-kmp-default
  const bool kmp = name.starts_with("nvidia-") && contains(name, "-kmp-");
  const bool kmod = name.starts_with("kmod-nvidia") && name != "kmod-nvidia-common" && !contains(name, "-fs");
  if (kmp || kmod || name == "nv-prefer-signed-open-driver") {
    return PackageRole{Kmod, KernelModule};
  }
  const bool stem = std::any_of(kRpmUserSpaceStems.begin(), kRpmUserSpaceStems.end(),
                                [name](std::string_view each) { return name.starts_with(each); });
  const bool other = std::any_of(kRpmNoDriver.begin(), kRpmNoDriver.end(),
                                 [name](std::string_view each) { return contains(name, each); });
  if ((stem && !other) || is_one_of(name, kRpmUserSpaceNames) || has_branch(name, kRpmUserSpace)) {
    return PackageRole{Rpm, UserSpace};
  }
  return std::nullopt;
}

bool is_plain_package_text(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-._~:^%";
  return !text.empty() && text.size() <= kLongest && text.find_first_not_of(kPlain) == std::string_view::npos;
}

std::optional<InstallTrace> deb_trace(std::string name, std::string version, std::string source) {
  const auto role = deb_role(name);
  return trace(role, std::move(name), std::move(version), std::move(source));
}

std::optional<InstallTrace> rpm_trace(std::string name, std::string version, std::string source) {
  const auto role = rpm_role(name);
  return trace(role, std::move(name), std::move(version), std::move(source));
}

}  // namespace gpuskew
