#pragma once

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// The gpu-operator's driver container: run/nvidia/driver is its file system once the driver is loaded; before that,
/// and while it compiles, only its run/nvidia/nvidia-driver.pid is there. Absent when neither is. run is empty after a
/// boot.
Fact<DriverContainer> read_driver_container(const HostRoot& root);

}  // namespace gpuskew
