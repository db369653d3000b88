#include "agent/probes/fabric_manager.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "agent/probes/packages.h"

namespace gpuskew {
namespace {

constexpr const char* kDriverRoot = "/run/nvidia/driver";
constexpr std::array kPrograms = {"/usr/bin/nv-fabricmanager", "/usr/local/bin/nv-fabricmanager",
                                  "/usr/libexec/nvidia/tesla/bin/nv-fabricmanager",
                                  "/home/kubernetes/bin/nvidia/bin/nv-fabricmanager"};

using Version = Fact<DriverVersion>;

// Several packages of it (a branch left over) must tell one version.
Version version_in(const InstallTraces& traces, const std::string& where) {
  std::optional<DriverVersion> found;
  std::string source = where;
  for (const InstallTrace& trace : traces) {
    if (trace.part != InstallPart::FabricManager) {
      continue;
    }
    const auto version = driver_version(trace);
    if (!version || (found && *found != *version)) {
      return Version::unknown(
          {ErrorCode::Malformed,
           version ? "packages of two versions of it are installed"
                   : "its package " + in_quotes(trace.name) + " has no driver's version: " + in_quotes(trace.version)},
          trace.source);
    }
    found = version;
    source = trace.source;
  }
  return found ? Version::known(std::move(*found), std::move(source)) : Version::absent(std::move(source));
}

// A program that no package brought: a version is not told by its name, and it is not run.
Version without_package(const HostRoot& root, const std::string& prefix, Version absent) {
  for (const char* program : kPrograms) {
    const auto status = root.status(program);
    if (status) {
      return Version::unknown({ErrorCode::Unsupported, "it is there, but no package of it that tells its version"},
                              prefix + program);
    }
    if (status.error().code != ErrorCode::NotFound) {
      return Version::unknown(status.error(), prefix + program);
    }
  }
  return absent;
}

// The operator's container brings its own, and that one runs. Absent: it has none.
Version read_in_container(const HostRoot& root, PackageCache* cache) {
  const auto inside = root.beneath(kDriverRoot);
  if (!inside) {
    return Version::unknown(inside.error(), kDriverRoot);
  }
  const auto traces = read_package_traces(*inside, kDriverRoot, cache);
  if (!traces && traces.error().code != ErrorCode::NotFound) {
    return Version::unknown(traces.error(), kDriverRoot);
  }
  auto found = version_in(traces ? *traces : InstallTraces{}, kDriverRoot);
  return found.is_absent() ? without_package(*inside, kDriverRoot, std::move(found)) : found;
}

}  // namespace

Version read_fabric_manager(const HostRoot& root, const Fact<InstallTraces>& installs,
                            const Fact<DriverContainer>& container, PackageCache* cache) {
  if (container.is_known() && container->mounted) {
    auto inside = read_in_container(root, cache);
    if (!inside.is_absent()) {
      return inside;
    }
  }
  if (!installs.is_known()) {
    return Version::unknown(installs.is_unknown() ? installs.why() : Error{ErrorCode::NotFound, "not read"},
                            installs.source());
  }
  auto found = version_in(*installs, installs.source());
  return found.is_absent() ? without_package(root, "", std::move(found)) : found;
}

}  // namespace gpuskew
