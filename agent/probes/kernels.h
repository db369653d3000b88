#pragma once

#include <vector>

#include "agent/host_root.h"
#include "agent/probes/module_cache.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// Every kernel that has a module tree (lib/modules/<release>) or an image (boot/vmlinuz-<release>, a loader's entry, a
/// unified image, lib/modules/<release>/vmlinuz), oldest first. TooLarge past Snapshot::kMaxKernels. A module tree that
/// a removed kernel left behind is listed, without an image.
Fact<std::vector<InstalledKernel>> read_kernels(const HostRoot& root, ModuleCache& cache);

/// The same kernels with `next`'s module file unknown: it boots into an ostree deployment that is not the running one.
Fact<std::vector<InstalledKernel>> without_modules_of(const NextKernel& next,
                                                      const Fact<std::vector<InstalledKernel>>& kernels);

}  // namespace gpuskew
