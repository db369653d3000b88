#pragma once

#include <cstdint>
#include <string_view>

#include "aggregator/stream_conversation.h"
#include "core/time.h"

namespace gpuskew {

class Log;

/// The log lines that peers can cause at will, kept so few that a port scanner or a fleet with expired certificates can
/// not fill the disk: a burst, then a line a second; each says how many before it were not written. The counts in the
/// metrics are complete.
class StreamLog {
 public:
  static constexpr std::int64_t kBurst = 50;
  static constexpr Duration kEvery = std::chrono::seconds(1);

  /// `log` must outlive the object.
  explicit StreamLog(const Log& log) : log_(log) {}

  /// `certificate`: the names in the peer's certificate, "" when it showed none.
  void refused(const Refused& refused, std::string_view peer, std::string_view certificate, Time now);
  /// A second connection of a node takes the place of its first.
  void replaced(std::string_view node, std::string_view peer, std::string_view older_peer, Time now);

 private:
  bool may_write(Time now);

  const Log& log_;
  std::int64_t budget_ = kBurst;
  Time refilled_{};
  std::uint64_t not_written_ = 0;
};

}  // namespace gpuskew
