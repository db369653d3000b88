#pragma once

// Whether a journal has new kernel lines, asked ten times a second on a node whose other programs log all the time:
// libsystemd would have to map the file for it. The format is documented to be stable
// (systemd.io/JOURNAL_FILE_FORMAT); what is not as expected here is "unknown", and the journal is read then.

#include <cstdint>
#include <optional>

#include "agent/host_file.h"

namespace gpuskew {

/// The number of entries with _TRANSPORT=kernel in a journal file, from five small reads. nullopt: the file does not
/// tell (written by systemd before 246, or not a journal).
std::optional<std::uint64_t> kernel_entry_count(const HostFile& journal);

}  // namespace gpuskew
