#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
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

/// Remembers which entries of sys/bus/pci/devices are other makers': there may be hundreds, and what an entry of sysfs
/// stands for never changes.
class PciCache {
 public:
  static constexpr std::size_t kMaxDevices = 4096;  ///< any more are read each time

  bool is_foreign(const DirectoryEntry& entry) const {
    const auto known = foreign_.find(entry.name);
    return known != foreign_.end() && known->second == entry.inode;
  }
  /// Replaces what was remembered.
  void remember(std::map<std::string, std::uint64_t> foreign) { foreign_ = std::move(foreign); }

 private:
  std::map<std::string, std::uint64_t> foreign_;  ///< address to inode of the entry
};

/// A device whose vendor or class can not be read makes both lists unknown: it may belong to either. A sys/bus without
/// pci is known to have none.
PciDevices read_pci(const HostRoot& root, PciCache& cache);

}  // namespace gpuskew
