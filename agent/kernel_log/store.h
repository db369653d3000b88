#pragma once

// What the agent knows of this boot's kernel log, kept beside the last good state: a restart of the agent neither reads
// the boot's log again nor forgets what the kernel's buffer has overwritten.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/kernel_log.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

struct KernelLogState {
  std::string boot_id;
  Time boot_time{};                    ///< what times since the boot are added to
  std::chrono::microseconds newest{};  ///< since the boot: kernel lines up to here are counted in `events`
  std::string cursor;                  ///< of the journal; "" when it was not read
  std::vector<KernelLogEvent> events;

  bool operator==(const KernelLogState&) const = default;
};

/// As text: one line a value, then one line an event. For tests and fuzzing, too.
std::string encode_kernel_log(const KernelLogState& state);
Result<KernelLogState> decode_kernel_log(std::string_view text);

/// <directory>/kernel-log
class KernelLogStore {
 public:
  static constexpr std::size_t kMaxBytes = 128u << 10;

  explicit KernelLogStore(const std::filesystem::path& directory) : path_(directory / "kernel-log") {}

  /// NotFound: nothing was kept. Any other error: it can not be read, or is not ours; begin anew.
  Result<KernelLogState> load() const;
  /// The old content stays on any error.
  Result<void> save(const KernelLogState& state) const;

 private:
  std::filesystem::path path_;
};

}  // namespace gpuskew
