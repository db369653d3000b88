#include "agent/probes/installs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/probes/os_image.h"
#include "agent/probes/packages.h"
#include "agent/probes/runfile.h"

namespace gpuskew {
namespace {

constexpr const char* kDkmsTree = "/var/lib/dkms";
constexpr std::size_t kMaxDkmsVersions = 256;
constexpr std::size_t kMaxSourceText = 200;

using Traces = Fact<InstallTraces>;

void append(InstallTraces from, InstallTraces& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Not nvidia-fs (GPUDirect Storage) and the like: they are not the driver.
bool is_driver_in_dkms(std::string_view module) {
  constexpr std::array<std::string_view, 4> kStems = {"nvidia-current", "nvidia-tesla", "nvidia-legacy", "nvidia-srv"};
  return module == "nvidia" || module.starts_with("nvidia-open") ||
         std::any_of(kStems.begin(), kStems.end(), [module](auto stem) { return module.starts_with(stem); });
}

Result<InstallTraces> read_dkms_traces(const HostRoot& root) {
  const auto modules = root.list(kDkmsTree);
  if (!modules) {
    const bool none = modules.error().code == ErrorCode::NotFound;
    return none ? Result<InstallTraces>(InstallTraces{}) : tl::unexpected(modules.error());
  }
  InstallTraces traces;
  for (const auto& module : *modules) {
    if (!is_driver_in_dkms(module.name)) {
      continue;
    }
    const std::string folder = std::string(kDkmsTree) + "/" + module.name;
    const auto versions = root.list(folder, kMaxDkmsVersions);
    if (!versions) {
      return tl::unexpected(versions.error());
    }
    for (const auto& version : *versions) {  // beside them are links named for kernels
      if (version.kind == FileKind::Directory && DriverVersion::parse(version.name)) {
        traces.push_back({InstallKind::Dkms, InstallPart::KernelModule, folder, version.name, kDkmsTree});
      }
    }
  }
  return traces;
}

// Ubuntu's signed modules are known by where they lie even when no package is.
void add_prebuilt_by_path(const Fact<ModuleFile>& file, InstallTraces& traces) {
  const bool known = std::any_of(traces.begin(), traces.end(),
                                 [](const InstallTrace& trace) { return trace.kind == InstallKind::Prebuilt; });
  if (known || !file.is_known() || module_home(file->path) != ModuleHome::Prebuilt) {
    return;
  }
  traces.push_back({InstallKind::Prebuilt, InstallPart::KernelModule, file->path,
                    file->version.is_known() ? file->version->text() : std::string(), file->path});
}

void add_container(const Fact<DriverContainer>& container, InstallTraces& traces) {
  if (!container.is_known()) {
    return;
  }
  traces.push_back({InstallKind::Container, InstallPart::KernelModule, container->root, "", container.source()});
  if (container->mounted) {
    traces.push_back({InstallKind::Container, InstallPart::UserSpace, container->root, "", container.source()});
  }
}

// Why a host without a package database is no host without packages; nullopt where it is.
std::optional<Error> missing_database(const Fact<OsIdentity>& os) {
  if (os.is_known() && is_image_only(*os)) {
    return std::nullopt;
  }
  const std::string of = os.is_known() ? ", and those of " + in_quotes(os->id) + " are not read" : "";
  return Error{ErrorCode::Unsupported, "neither dpkg's nor rpm's list of packages is there" + of};
}

std::string sources_of(const InstallTraces& traces) {
  std::string text;
  for (const InstallTrace& trace : traces) {
    if (text.find(trace.source) == std::string::npos && text.size() + trace.source.size() < kMaxSourceText) {
      text += (text.empty() ? "" : ", ") + trace.source;
    }
  }
  return text.empty() ? "/" : text;
}

}  // namespace

Traces read_installs(const HostRoot& root, const InstallContext& context, PackageCache* cache) {
  if (context.driver_container.is_unknown()) {
    return Traces::unknown(context.driver_container.why(), context.driver_container.source());
  }
  auto packages = read_package_traces(root, "", cache);
  if (!packages && packages.error().code == ErrorCode::NotFound) {
    if (auto why = missing_database(context.os)) {
      return Traces::unknown(std::move(*why), "/");
    }
    packages = InstallTraces{};
  }
  auto runfile = read_runfile_traces(root);
  auto dkms = read_dkms_traces(root);
  auto image = read_os_image_traces(root, context.os, context.libraries);
  InstallTraces traces;
  for (auto* each : {&runfile, &packages, &dkms, &image}) {
    if (!*each) {
      return Traces::unknown(std::move(each->error()), "/");
    }
    append(std::move(**each), traces);
  }
  add_prebuilt_by_path(context.module_file, traces);
  add_container(context.driver_container, traces);
  if (traces.size() > kMaxInstallTraces) {
    return Traces::unknown(
        {ErrorCode::TooLarge, "more than " + std::to_string(kMaxInstallTraces) + " traces of installers"}, "/");
  }
  std::string source = sources_of(traces);
  return Traces::known(std::move(traces), std::move(source));
}

}  // namespace gpuskew
