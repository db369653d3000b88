#include "agent/probes/jetson.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/probes/packages.h"

namespace gpuskew {
namespace {

constexpr const char* kNvrmVersion = "/proc/driver/nvidia/version";
constexpr const char* kTegraRelease = "/etc/nv_tegra_release";
constexpr const char* kCompatible = "/sys/firmware/devicetree/base/compatible";
constexpr const char* kDpkgStatus = "/var/lib/dpkg/status";
constexpr const char* kPlatformOnly = "tegra";

constexpr std::size_t kMaxSmallFile = 4096;
constexpr std::size_t kMaxReleaseLength = 24;
// Versioned like L4T itself ("32.7.3-20221122092935"); nvidia-l4t-kernel begins with the kernel's release instead.
constexpr std::array<std::string_view, 2> kL4tPackages = {"nvidia-l4t-core", "nvidia-l4t-init"};

bool is_release(std::string_view text) {
  return !text.empty() && text.size() <= kMaxReleaseLength && text.front() != '.' && text.back() != '.' &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(start + before.size());
  return rest.substr(0, std::min(rest.find_first_of(after), rest.size()));
}

// "# R32 (release), REVISION: 7.3, GCID: ..." is 32.7.3.
std::string release_in_tegra_file(std::string_view text) {
  std::string release(between(text, "# R", " "));
  release.append(".").append(between(text, "REVISION: ", ", \n"));
  return is_release(release) ? release : std::string();
}

bool is_l4t_package(std::string_view name) {
  return std::find(kL4tPackages.begin(), kL4tPackages.end(), name) != kL4tPackages.end();
}

std::string release_in_packages(const HostRoot& root) {
  const auto packages = read_dpkg_packages(root, is_l4t_package);
  if (packages) {
    for (const DpkgPackage& package : *packages) {
      std::string release = package.version.substr(0, package.version.find('-'));
      if (is_release(release)) {
        return release;
      }
    }
  }
  return {};
}

// What proves a Tegra platform without telling its release; "" when nothing does.
std::string platform_evidence(const HostRoot& root, const Fact<KernelRelease>& kernel, bool tegra_driver) {
  if (tegra_driver) {
    return kNvrmVersion;
  }
  const auto compatible = root.read(kCompatible, kMaxSmallFile);
  if (compatible && compatible->find("nvidia,tegra") != std::string::npos) {
    return kCompatible;
  }
  return kernel.is_known() && kernel->text().ends_with("-tegra") ? kernel.source() : std::string();
}

}  // namespace

Fact<std::string> read_l4t_release(const HostRoot& root, const Fact<KernelRelease>& kernel) {
  bool tegra_driver = false;
  if (const auto text = root.read(kNvrmVersion, kMaxSmallFile)) {
    const auto nvrm = parse_nvrm_version(*text);
    if (nvrm && nvrm->l4t_release) {
      return Fact<std::string>::known(*nvrm->l4t_release, kNvrmVersion);
    }
    tegra_driver = nvrm && !nvrm->version && nvrm->version.error().code == ErrorCode::Unsupported;
  }
  const auto tegra_file = root.read(kTegraRelease, kMaxSmallFile);
  if (tegra_file) {
    std::string release = release_in_tegra_file(*tegra_file);
    return Fact<std::string>::known(release.empty() ? kPlatformOnly : std::move(release), kTegraRelease);
  }
  if (tegra_file.error().code != ErrorCode::NotFound) {
    return Fact<std::string>::unknown(tegra_file.error(), kTegraRelease);
  }
  std::string evidence = platform_evidence(root, kernel, tegra_driver);
  if (evidence.empty() && kernel.is_unknown()) {
    return Fact<std::string>::unknown({ErrorCode::NotFound, "the kernel release is unknown"}, kTegraRelease);
  }
  if (evidence.empty()) {
    return Fact<std::string>::absent(kTegraRelease);
  }
  // Megabytes of text: read only where it can say something.
  std::string release = release_in_packages(root);
  if (!release.empty()) {
    return Fact<std::string>::known(std::move(release), kDpkgStatus);
  }
  return Fact<std::string>::known(kPlatformOnly, std::move(evidence));
}

}  // namespace gpuskew
