#pragma once

// Every probe, in one list. A probe that fails makes its own fact unknown and touches no other.

#include <string_view>

#include "agent/host_root.h"
#include "agent/read_cache.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

/// Reads every fact of the host beneath `root`. Blocks: a few milliseconds of small files, and once for each compressed
/// module file up to kDecompressDeadline. `remembered` is left empty. `cache` keeps what files said between calls, and
/// spreads the search for those who hold a device over several of them; without it each call reads and searches all.
Snapshot take_snapshot(const HostRoot& root, std::string_view node, std::string_view agent_version, Time now,
                       ReadCache* cache = nullptr);

/// The next piece of that search, and no other fact: `snapshot` is the newest that was taken with `cache`.
void search_on(const HostRoot& root, Time now, ReadCache& cache, Snapshot& snapshot);

}  // namespace gpuskew
