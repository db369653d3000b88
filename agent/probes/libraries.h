#pragma once

#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// libnvidia-ml and libcuda in the host's library directories and in those of a driver container mounted at
/// run/nvidia/driver, by the names their .so.1 links end at ("libcuda.so.550.90.07"). Where there is no such link a
/// single versioned file counts; several make the fact unknown, because the loader's choice is. One file seen through
/// two directories is listed once. Absent: there are library directories, and neither library in them.
Fact<std::vector<Library>> read_libraries(const HostRoot& root);

}  // namespace gpuskew
