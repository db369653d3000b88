#pragma once

// This boot's kernel lines, and nv-fabricmanager's, from the journal's files. libsystemd is loaded in a child process
// that lives for one read (two milliseconds): see runtime/journal.h.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/kernel_log.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

class HostRoot;

struct JournalQuery {
  std::string boot_id;  ///< as proc has it, with dashes
  Time boot_time{};     ///< files that were last written long before are not opened
  std::string cursor;   ///< of the read before; "" reads from the beginning of the boot
};

struct JournalLine {
  LogSource source{};
  std::chrono::microseconds since_boot{};
  std::string_view text;  ///< may hold several lines
};

struct JournalRead {
  std::string cursor;                  ///< for the next read; the query's when nothing came
  std::uint64_t kernel_lines = 0;      ///< all of them, of interest or not
  std::chrono::microseconds newest{};  ///< of those
  bool more = false;                   ///< a limit was reached; read on from `cursor`

  bool operator==(const JournalRead&) const = default;
};

/// What one read may take.
inline constexpr std::uint64_t kMaxJournalEntries = 200'000;
inline constexpr std::size_t kMaxJournalAnswer = std::size_t{16} << 20;
inline constexpr std::size_t kMaxJournalFiles = 64;
inline constexpr std::chrono::seconds kJournalWork{2};
inline constexpr std::chrono::seconds kJournalDeadline{5};

/// Gives `take` the lines that is_of_interest() finds so, in their order. Errors: NotFound (no journal files of this
/// boot), Denied (they belong to root and the group systemd-journal), Unsupported (no libsystemd here), Malformed,
/// Timeout, TooLarge, Internal. Lines that were taken before an error were there all the same.
Result<JournalRead> read_journal(const HostRoot& root, const JournalQuery& query,
                                 const std::function<void(const JournalLine&)>& take);

}  // namespace gpuskew
