#pragma once

#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// The GPUs among sys/bus/pci/devices, in address order: vendor 10de, class 0300 or 0302, no SR-IOV virtual functions.
/// One device that can not be read makes the list unknown: it may be a GPU. A sys/bus without pci is known to have
/// none.
Fact<std::vector<Gpu>> read_gpus(const HostRoot& root);

}  // namespace gpuskew
