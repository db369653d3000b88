#pragma once

#include <string_view>

#include "agent/host_root.h"
#include "agent/probes/package_cache.h"

namespace gpuskew {

inline constexpr const char* kAptHistory = "/var/log/apt/history.log";
/// Of the log's end: a distribution's upgrade is one line of 100 KiB.
inline constexpr std::size_t kMaxAptHistory = 256u << 10;

/// Fills `changed_by` of dpkg's packages: which command brought the version they have now, and when, by the newest
/// entry that says so. `log` may begin inside an entry. A log of the month before (compressed) is not looked into.
void note_apt_changes(std::string_view log, InstallTraces& traces);

/// The same from the host's log. Who changed a package is told where it can be: no log, no word.
void note_apt_changes(const HostRoot& root, InstallTraces& traces);

}  // namespace gpuskew
