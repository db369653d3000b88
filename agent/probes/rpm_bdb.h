#pragma once

#include <vector>

#include "agent/probes/byte_order.h"
#include "agent/probes/rpm_header.h"

namespace gpuskew {

/// The wanted packages of a Berkeley DB hash (Packages of RHEL 8 and older), as libdb versions 4 and 5 write it on a
/// little-endian machine. Errors: those of `file`; Malformed, TooLarge (kMaxPackages).
Result<std::vector<RpmPackage>> read_rpm_bdb(const ReadAt& file, PackageFilter wanted);

}  // namespace gpuskew
