#pragma once

// The container runtime's configuration as it would be merged now, and how the running daemon stands to it.

#include <optional>
#include <vector>

#include "agent/host_root.h"
#include "agent/probes/runtime_processes.h"
#include "agent/probes/seen_files.h"
#include "core/fact.h"
#include "core/facts/runtime.h"
#include "core/time.h"

namespace gpuskew {

/// Keeps what was read for as long as the runtime's processes and every file and directory that was looked at are the
/// same: then a read is a listing of proc and some twenty stats.
class ContainerRuntimeCache {
 public:
  Fact<ContainerRuntime> read(const HostRoot& root, const Fact<Time>& boot_time);

 private:
  RuntimeProcesses processes_;
  std::optional<std::vector<RuntimeProcess>> last_processes_;
  Time last_boot_{};
  SeenFiles seen_;
  Fact<ContainerRuntime> fact_;
};

/// The runtime that serves the kubelet. Absent: none runs, and none is installed. Unknown: a file of its configuration
/// can not be read or is one its daemon refuses; nothing tells several runtimes apart; or the daemon's version is not
/// known and its versions merge these files to different ends. `boot_time` makes started_at of a process's start.
/// `cache` may be null: then everything is read.
Fact<ContainerRuntime> read_container_runtime(const HostRoot& root, const Fact<Time>& boot_time,
                                              ContainerRuntimeCache* cache);

}  // namespace gpuskew
