#pragma once

#include "core/snapshot.h"

namespace gpuskew {

/// What a healthy node with eight GPUs, six NVSwitches, three kernels, dkms, containerd and a job on every GPU says
/// beyond its driver and its GPUs.
void add_bench_facts(Snapshot& snapshot);

}  // namespace gpuskew
