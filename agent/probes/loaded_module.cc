#include "agent/probes/loaded_module.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kModules = "/sys/module";
constexpr const char* kModule = "/sys/module/nvidia";
constexpr const char* kModuleVersion = "/sys/module/nvidia/version";
constexpr const char* kModuleTaint = "/sys/module/nvidia/taint";
constexpr const char* kModuleList = "/proc/modules";
constexpr const char* kNvrmVersion = "/proc/driver/nvidia/version";

constexpr std::size_t kMaxVersionFile = 4096;
constexpr std::size_t kMaxModuleList = 1u << 20;

Result<NvrmVersion> read_nvrm(const HostRoot& root) {
  const auto text = root.read(kNvrmVersion, kMaxVersionFile);
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto nvrm = parse_nvrm_version(*text);
  return nvrm ? std::move(nvrm) : Result<NvrmVersion>(fail(std::string("reading ") + kNvrmVersion, nvrm.error()));
}

Fact<DriverVersion> version_from_nvrm(const Result<NvrmVersion>& nvrm) {
  if (!nvrm) {
    return Fact<DriverVersion>::unknown(nvrm.error(), kNvrmVersion);
  }
  if (!nvrm->version) {
    return Fact<DriverVersion>::unknown(nvrm->version.error(), kNvrmVersion);
  }
  return Fact<DriverVersion>::known(*nvrm->version, kNvrmVersion);
}

// The module's first word in each line: nvidia_uvm and nvidiafb are others.
bool lists_nvidia(std::string_view modules) {
  constexpr std::string_view kLine = "nvidia ";
  return modules.starts_with(kLine) || modules.find("\nnvidia ") != std::string_view::npos;
}

// Neither sys/module/nvidia nor proc/driver/nvidia is there. That proves nothing where sys is not mounted.
Fact<DriverVersion> version_when_not_found(const HostRoot& root) {
  const auto modules = root.list(kModules);
  if (modules && !modules->empty()) {
    return Fact<DriverVersion>::absent(kModules);
  }
  const auto list = root.read(kModuleList, kMaxModuleList);
  if (!list) {
    return Fact<DriverVersion>::unknown(
        {list.error().code, std::string("neither ") + kModules + " nor " + kModuleList + " can be read"}, kModules);
  }
  if (lists_nvidia(*list)) {
    return Fact<DriverVersion>::unknown({ErrorCode::NotFound, std::string("the module is loaded, and without ") +
                                                                  kModule + " nothing tells its version"},
                                        kModuleList);
  }
  return Fact<DriverVersion>::absent(kModuleList);
}

Fact<DriverVersion> read_version(const HostRoot& root, const Result<NvrmVersion>& nvrm) {
  const bool tegra = nvrm && !nvrm->version && nvrm->version.error().code == ErrorCode::Unsupported;
  if (tegra) {  // sysfs repeats the number that is no driver's
    return version_from_nvrm(nvrm);
  }
  const auto text = root.read_line(kModuleVersion);
  if (text) {
    const auto version = DriverVersion::parse(*text);
    return version ? Fact<DriverVersion>::known(*version, kModuleVersion)
                   : Fact<DriverVersion>::unknown(
                         {version.error().code, std::string("reading ") + kModuleVersion + ": " + version.error().what},
                         kModuleVersion);
  }
  const bool nvrm_missing = !nvrm && nvrm.error().code == ErrorCode::NotFound;
  if (!nvrm_missing) {
    return version_from_nvrm(nvrm);
  }
  const auto module = root.status(kModule);
  if (text.error().code != ErrorCode::NotFound || (!module && module.error().code != ErrorCode::NotFound)) {
    return Fact<DriverVersion>::unknown(module ? text.error() : module.error(), kModuleVersion);
  }
  if (module) {
    return Fact<DriverVersion>::unknown(
        {ErrorCode::NotFound,
         std::string("the module is loaded, and neither ") + kModuleVersion + " nor " + kNvrmVersion + " is there"},
        kModule);
  }
  return version_when_not_found(root);
}

Fact<ModuleFlavour> read_flavour(const HostRoot& root, const Result<NvrmVersion>& nvrm) {
  if (nvrm) {
    return Fact<ModuleFlavour>::known(nvrm->flavour, kNvrmVersion);
  }
  // The kernel taints itself with 'P' for a module whose licence is not free, 'O' for any built out of its tree.
  const auto taint = root.read_line(kModuleTaint);
  if (taint && taint->find('P') != std::string::npos) {
    return Fact<ModuleFlavour>::known(ModuleFlavour::Proprietary, kModuleTaint);
  }
  if (taint && taint->find('O') != std::string::npos) {
    return Fact<ModuleFlavour>::known(ModuleFlavour::Open, kModuleTaint);
  }
  return Fact<ModuleFlavour>::unknown(nvrm.error(), kNvrmVersion);
}

}  // namespace

LoadedModule read_loaded_module(const HostRoot& root) {
  const auto nvrm = read_nvrm(root);
  LoadedModule module;
  module.version = read_version(root, nvrm);
  module.flavour =
      module.version.is_absent() ? Fact<ModuleFlavour>::absent(module.version.source()) : read_flavour(root, nvrm);
  return module;
}

}  // namespace gpuskew
