#pragma once

#include <string_view>

#include "agent/host_root.h"
#include "agent/probes/module_version.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// Whether a file of this name is the nvidia module itself, as some distribution calls it: nvidia.ko,
/// nvidia-current.ko, nvidia_352.ko, nvidia-tesla-470.ko, each also .xz, .zst or .gz. nvidia-uvm.ko and nvidiafb.ko are
/// other modules.
bool is_nvidia_module_name(std::string_view file_name);

/// The nvidia module file the running kernel would load: the one modules.dep names if that is there, else the first in
/// modprobe's usual order (updates, extra, the kernel's own tree, weak-updates). Absent: lib/modules has no directory
/// for this kernel, or one without such a file. A link that leads nowhere is no file.
Fact<ModuleFile> read_module_file(const HostRoot& root, const Fact<KernelRelease>& kernel,
                                  ModuleVersionCache* versions);

}  // namespace gpuskew
