#pragma once

#include <optional>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

/// Why files beneath this root say nothing about the node: it is a Kubernetes pod's own file system, told by the
/// service-account mount no node has. The kernel's own files (proc, sys) still speak for the node. nullopt: no such
/// mark. A pod without a service account, and a plain container, cannot be told from a host: --host-root must be right.
std::optional<Error> pod_root_error(const HostRoot& root);

}  // namespace gpuskew
