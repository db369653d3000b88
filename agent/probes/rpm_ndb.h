#pragma once

#include <vector>

#include "agent/probes/byte_order.h"
#include "agent/probes/rpm_header.h"

namespace gpuskew {

/// The wanted packages of rpm's own database (Packages.db of SUSE): slots that say where each package's header is.
/// Errors: those of `file`; Malformed, TooLarge (kMaxPackages).
Result<std::vector<RpmPackage>> read_rpm_ndb(const ReadAt& file, PackageFilter wanted);

}  // namespace gpuskew
