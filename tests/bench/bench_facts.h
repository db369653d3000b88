#pragma once

#include <cstddef>

#include "core/snapshot.h"

namespace gpuskew {

/// What a healthy node with eight GPUs, six NVSwitches, three kernels, dkms, containerd and a job on every GPU says
/// beyond its driver and its GPUs. Node `index` has boot times, processes and pods of its own; the rest is every
/// node's.
void add_bench_facts(Snapshot& snapshot, std::size_t index);

}  // namespace gpuskew
