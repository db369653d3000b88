#pragma once

#include "agent/host_root.h"
#include "agent/probes/go_build_info.h"
#include "agent/probes/runtime_daemon.h"
#include "core/fact.h"

namespace gpuskew {

struct DaemonVersion {
  Fact<std::string> text;        ///< "1.7.24"; absent: no such program is installed
  ContainerdVersion containerd;  ///< also where only the major version is told
};

/// Of the running daemon's program, else of the installed one: what its file says of itself, else what dpkg says of the
/// package that brings /usr/bin/containerd. A program that was replaced beneath the running daemon tells nothing.
DaemonVersion read_daemon_version(const HostRoot& root, const RuntimeDaemon& daemon, SeenFiles& seen);

}  // namespace gpuskew
