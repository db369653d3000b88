#pragma once

#include <vector>

#include "agent/host_file.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

class HostRoot;

/// The system's journal files that may hold entries of the boot that began then, opened; users' own hold no kernel
/// lines. At most `limit`, the newest. NotFound: none; Denied and others: one that is wanted can not be opened.
Result<std::vector<HostFile>> open_journal_files(const HostRoot& root, Time boot_time, std::size_t limit);

/// The directories they lie in, those that are there.
std::vector<std::string> journal_directories(const HostRoot& root);

}  // namespace gpuskew
