#pragma once

#include "agent/host_root.h"
#include "agent/probes/package_cache.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// The version of NVIDIA's fabric manager, which is never run: from its package in the driver container where one is
/// mounted, else from `installs` (packages, Talos' extension). Absent: no package of it and no nv-fabricmanager.
/// Unknown: the program is there and nothing tells its version, or a package database could not be read.
Fact<DriverVersion> read_fabric_manager(const HostRoot& root, const Fact<InstallTraces>& installs,
                                        const Fact<DriverContainer>& container, PackageCache* cache);

}  // namespace gpuskew
