#pragma once

#include <string>
#include <string_view>

#include "agent/host_root.h"
#include "agent/probes/module_cache.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// The nvidia module file this kernel would load: the one modules.dep names if that is there, else the first in
/// modprobe's usual order (updates, extra, the kernel's own tree, weak-updates). Absent: lib/modules has no directory
/// for this kernel, or one without such a file. A link that leads nowhere is no file. Unknown: modules.dep is there and
/// can not be read, or a place can not be searched that modprobe looks at before the file found, or together with it.
Fact<ModuleFile> read_module_file(const HostRoot& root, const Fact<KernelRelease>& kernel, ModuleCache& cache);

}  // namespace gpuskew
