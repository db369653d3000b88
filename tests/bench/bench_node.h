#pragma once

#include <cstddef>
#include <string>

#include "core/snapshot.h"

namespace gpuskew {

/// "bench-00007"
std::string bench_node_name(std::size_t index);

/// A healthy node with eight GPUs, as the agent reports one.
Snapshot bench_snapshot(std::size_t index);

/// The same node with a fact that differs, and none that changes the verdict.
Snapshot read_again(Snapshot snapshot);

/// The same node after its driver went away: the judge finds what is wrong, and history has something to keep.
Snapshot without_driver(Snapshot snapshot);

}  // namespace gpuskew
