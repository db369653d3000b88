#pragma once

#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

inline constexpr std::size_t kMaxPciFunctions = 256;

/// NVIDIA's (vendor 10de) among sys/bus/pci/devices, in address order.
struct PciDevices {
  Fact<std::vector<Gpu>> gpus;  ///< class 0300 or 0302, no SR-IOV virtual functions
  Fact<std::vector<PciFunction>>
      functions;  ///< all others; unknown when one can not be read, and past kMaxPciFunctions
};

/// A device whose vendor or class can not be read makes both lists unknown: it may belong to either. A sys/bus without
/// pci is known to have none.
PciDevices read_pci(const HostRoot& root);

}  // namespace gpuskew
