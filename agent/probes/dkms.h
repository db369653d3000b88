#pragma once

#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// What dkms has of the nvidia driver, from its tree (var/lib/dkms), where `dkms status` reads it, too; what makes that
/// command fail (a version whose source is gone) is an entry of its own. Other modules of NVIDIA's (nvidia-fs) are left
/// out. By module, version, kernel. Absent: no dkms tree. TooLarge past Snapshot::kMaxDkmsEntries.
Fact<std::vector<DkmsEntry>> read_dkms(const HostRoot& root);

}  // namespace gpuskew
