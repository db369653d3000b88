#pragma once

// Every probe, in one list. A probe that fails makes its own fact unknown and touches no other.

#include <string_view>

#include "agent/host_root.h"
#include "agent/probes/module_version.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

/// Reads every fact of the host beneath `root`. Blocks: a few milliseconds of small files, and once for each compressed
/// module file up to kDecompressDeadline. `remembered` is left empty. `versions` keeps what module files said between
/// calls; without it each call reads the file again.
Snapshot take_snapshot(const HostRoot& root, std::string_view node, std::string_view agent_version, Time now,
                       ModuleVersionCache* versions = nullptr);

}  // namespace gpuskew
