#pragma once

// The modules of the running kernel that drive a GPU, or could: proc/modules.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/facts/modules.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

/// The lines of proc/modules that name a module we know, in the order of the file. Malformed when one of those is cut
/// short, TooLarge past Snapshot::kMaxModules of them. state_since is left zero.
Result<std::vector<KernelModule>> parse_kernel_modules(std::string_view text);

/// Remembers since when a module has been in a state other than Live. A module that went and came again between two
/// reads is another one: its directory in sysfs is.
class ModuleStates {
 public:
  /// Sets state_since of each module.
  void date(const HostRoot& root, std::vector<KernelModule>& modules, Time now);

 private:
  struct Seen {
    ModuleState state{};
    std::uint64_t directory = 0;  ///< inode of sys/module/<name>; 0: not there
    Time since{};
  };
  std::map<std::string, Seen> seen_;  ///< at most Snapshot::kMaxModules
};

/// Known and empty: none of them is loaded. A kernel without loadable modules has no proc/modules, and is known by a
/// sys/module that has none of them either.
Fact<std::vector<KernelModule>> read_kernel_modules(const HostRoot& root, ModuleStates& states, Time now);

}  // namespace gpuskew
