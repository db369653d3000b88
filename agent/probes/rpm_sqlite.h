#pragma once

#include <vector>

#include "agent/probes/byte_order.h"
#include "agent/probes/rpm_header.h"

namespace gpuskew {

/// The wanted packages of rpmdb.sqlite (Fedora, RHEL 9 and later, Amazon Linux), found by rpm's own index of names: a
/// few pages, where the whole file is a hundred megabytes. `log` is its write-ahead log, nullptr for none. Errors:
/// those of the readers; Malformed, TooLarge (kMaxPackages).
Result<std::vector<RpmPackage>> read_rpm_sqlite(const ReadAt& database, const ReadAt* log, PackageFilter wanted);

}  // namespace gpuskew
