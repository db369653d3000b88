#pragma once

#include <vector>

#include "agent/host_root.h"
#include "agent/probes/package_cache.h"
#include "core/fact.h"
#include "core/os_release.h"
#include "core/snapshot.h"

namespace gpuskew {

/// What other probes read before.
struct InstallContext {
  const Fact<OsIdentity>& os;
  const Fact<ModuleFile>& module_file;
  const Fact<std::vector<Library>>& libraries;
  const Fact<DriverContainer>& driver_container;
};

/// Every trace of an installer: NVIDIA's .run, the packages of dpkg and rpm, dkms's tree, prebuilt modules by the path
/// of the module file, the operator's driver container, vendor images. Known and empty: all of these were looked for.
/// Unknown when one of them could not be, or no package database that is read here is there. `cache` may be null.
Fact<InstallTraces> read_installs(const HostRoot& root, const InstallContext& context, PackageCache* cache);

}  // namespace gpuskew
