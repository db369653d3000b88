#pragma once

// The nvidia module in the running kernel.

#include <string>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/version.h"

namespace gpuskew {

struct LoadedModule {
  Fact<DriverVersion> version;
  Fact<ModuleFlavour> flavour;
};

/// Version: sys/module/nvidia/version, else proc/driver/nvidia/version. Flavour: the latter, else the module's taint
/// ('P': proprietary). Absent only when proven: sys/module or proc/modules is readable and has no nvidia. A loaded
/// module that tells no version is unknown.
LoadedModule read_loaded_module(const HostRoot& root);

}  // namespace gpuskew
