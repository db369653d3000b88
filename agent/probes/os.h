#pragma once

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/os_release.h"

namespace gpuskew {

/// os-release(5): etc/os-release, and only where that is not there usr/lib/os-release; the two are never merged. What
/// the root says is what is reported: an agent in a container needs the host's / as its root (see pod_root.h). Never
/// absent.
Fact<OsIdentity> read_os(const HostRoot& root);

}  // namespace gpuskew
