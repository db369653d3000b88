#pragma once

#include <string>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/version.h"

namespace gpuskew {

/// The L4T release of a Jetson ("32.7.3"), whose driver is not the one this product judges. From
/// proc/driver/nvidia/version, etc/nv_tegra_release, or the dpkg status of L4T's packages; "tegra" where the device
/// tree or the kernel's release prove the platform and nothing tells the release. Absent elsewhere.
Fact<std::string> read_l4t_release(const HostRoot& root, const Fact<KernelRelease>& kernel);

}  // namespace gpuskew
