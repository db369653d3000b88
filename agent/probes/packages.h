#pragma once

// The driver's packages in the databases of dpkg and rpm. Neither program is run.

#include <cstdint>
#include <string_view>

#include "agent/host_root.h"
#include "agent/probes/dpkg_status.h"
#include "agent/probes/package_cache.h"

namespace gpuskew {

inline constexpr std::uint64_t kMaxDpkgStatus = 64u << 20;

/// The packages asked for. NotFound: dpkg keeps no list beneath this root. Errors: those of HostRoot and DpkgScanner;
/// TooLarge past kMaxDpkgStatus.
Result<std::vector<DpkgPackage>> read_dpkg_packages(const HostRoot& root, const DpkgScanner::Wanted& wanted);

/// The driver's. `prefix` names the root in sources ("" for the host's own, "/run/nvidia/driver"). `cache` may be null.
/// NotFound: no such database here. Every other error: there is one, and what it holds is not known.
Result<InstallTraces> read_dpkg_traces(const HostRoot& root, std::string_view prefix, PackageCache* cache);
/// The same of rpm's database in each of its three kinds. Internal where it changed while it was read.
Result<InstallTraces> read_rpm_traces(const HostRoot& root, std::string_view prefix, PackageCache* cache);

/// Both. Known and empty: there is a database, and none of the driver's packages in it. NotFound: there is none.
Result<InstallTraces> read_package_traces(const HostRoot& root, std::string_view prefix, PackageCache* cache);

}  // namespace gpuskew
