#pragma once

#include <string>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/version.h"

namespace gpuskew {

/// The kernel's release where this is WSL2, whose driver is Windows' and no module of this kernel: Microsoft names its
/// kernels so ("5.15.153.1-microsoft-standard-WSL2"); under one built by hand dev/dxg and usr/lib/wsl/lib tell it.
/// Azure's kernels are none. Absent elsewhere.
Fact<std::string> read_wsl(const HostRoot& root, const Fact<KernelRelease>& kernel);

}  // namespace gpuskew
