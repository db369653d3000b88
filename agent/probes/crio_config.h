#pragma once

#include "agent/host_root.h"
#include "agent/probes/seen_files.h"
#include "core/facts/runtime.h"
#include "core/result.h"

namespace gpuskew {

/// CRI-O's main file and everything beneath `drop_ins`, whatever its name, in the order of the paths, as CRI-O takes
/// them: key by key, except that a runtime's table replaces one of the same name whole. Fills handlers (an OCI hook of
/// NVIDIA's counts as one, named "oci-hook"), default_runtime ("" where CRI-O's own default is left), cdi_enabled,
/// conflicts, newest_file and newest_change. Errors: HostRoot's, parse_toml's.
Result<void> read_crio_config(const HostRoot& root, const std::string& main_file, const std::string& drop_ins,
                              SeenFiles& seen, ContainerRuntime& runtime);

}  // namespace gpuskew
