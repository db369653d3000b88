#pragma once

#include "agent/host_root.h"
#include "agent/probes/package_cache.h"

namespace gpuskew {

/// What NVIDIA's .run installer left: its uninstaller (usr/bin/nvidia-uninstall), or its record of what it put where
/// (var/lib/nvidia/log), both of which an uninstall takes away. Its log in var/log alone proves nothing: it stays
/// behind, and a failed attempt writes one, too. Empty: no such installation. Errors: those of HostRoot but NotFound.
Result<InstallTraces> read_runfile_traces(const HostRoot& root);

}  // namespace gpuskew
