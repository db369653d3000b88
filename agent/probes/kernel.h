#pragma once

// The running kernel. All of it comes from proc, which in a container is the host's kernel too.

#include <string>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/time.h"
#include "core/version.h"

namespace gpuskew {

/// proc/sys/kernel/osrelease: uname's release. Never absent.
Fact<KernelRelease> read_kernel_release(const HostRoot& root);
/// Never absent.
Fact<std::string> read_boot_id(const HostRoot& root);
/// btime of proc/stat, whole seconds; moves when the clock is set. Never absent.
Fact<Time> read_boot_time(const HostRoot& root);
/// "x86_64", "aarch64" or "ppc64le": proc/sys/kernel/arch (Linux 6.1 and newer), else the release's suffix (RHEL
/// family), else what the host's init is built for: a 64-bit program proves a 64-bit kernel. Never absent.
Fact<std::string> read_architecture(const HostRoot& root, const Fact<KernelRelease>& kernel);

}  // namespace gpuskew
