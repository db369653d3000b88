#pragma once

// Files of systemd's journal, read through libsystemd. The library is loaded at run time, and it maps the files into
// memory: a damaged file or disk can end the process with SIGBUS, and 16 MiB of file are 9 MiB of resident memory. So
// this belongs into a process that is there for nothing else.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gpuskew {

class Journal {
 public:
  /// Longer fields are cut.
  static constexpr std::size_t kMaxFieldBytes = 4096;

  /// The descriptors are of journal files and must stay open while the object lives. Unsupported when libsystemd.so.0
  /// or one of its functions is not there; Malformed when a file is no journal.
  static Result<Journal> open(std::vector<int> descriptors);
  Journal(Journal&&) noexcept;
  Journal& operator=(Journal&&) noexcept;
  ~Journal();

  /// Entries that have all fields ("_BOOT_ID=...") of at least one of these sets; before seek().
  Result<void> match_any_of(const std::vector<std::vector<std::string>>& sets);
  /// Behind the entry that `cursor` names, or where it was; "" before the first one.
  Result<void> seek(const std::string& cursor);
  /// To the next entry; false behind the last one.
  Result<bool> next();

  // ---- of the entry that next() went to

  /// A field's value, valid until the next call; nullopt when the entry has none, or its data can not be read.
  std::optional<std::string_view> field(const std::string& name) const;
  /// Since the boot, when journald took the entry.
  Result<std::uint64_t> monotonic_microseconds() const;
  Result<std::string> cursor() const;

 private:
  struct State;
  explicit Journal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuskew
