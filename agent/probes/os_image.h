#pragma once

#include <string>
#include <vector>

#include "agent/host_root.h"
#include "agent/probes/package_cache.h"
#include "core/fact.h"
#include "core/os_release.h"
#include "core/snapshot.h"

namespace gpuskew {

/// Drivers that come with a vendor's image: Container-Optimized OS, Flatcar (the version etc/ asks for before the one
/// usr/share has), Bottlerocket, Talos (system extensions). `libraries` tell the version where the place does not.
/// Empty: none of these. Errors: those of HostRoot but NotFound.
Result<InstallTraces> read_os_image_traces(const HostRoot& root, const Fact<OsIdentity>& os,
                                           const Fact<std::vector<Library>>& libraries);

/// An OS whose image is all there is: no package database belongs on it.
bool is_image_only(const OsIdentity& os);

}  // namespace gpuskew
