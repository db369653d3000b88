#pragma once

// From the lines of the kernel's log to the causes they name. Pure and incremental: lines are fed in their order, as a
// journal or /dev/kmsg gives them, and equal causes are one event.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/kernel_log.h"
#include "core/kernel_log_line.h"
#include "core/time.h"

namespace gpuskew {

class KernelLogScanner {
 public:
  /// The lines of one message come together: later than this, a line belongs to another one.
  static constexpr Duration kMessageGap = std::chrono::seconds(1);
  /// A driver's probing of its GPUs stands between its first line and the one that says it is loaded.
  static constexpr Duration kMaxLoad = std::chrono::minutes(5);

  KernelLogScanner() = default;
  /// Goes on where another scanner ended. More than kMaxKernelLogEvents: the last ones.
  explicit KernelLogScanner(std::vector<KernelLogEvent> events);

  /// `record` may hold several lines: the nvidia module writes a message of four lines as one record, which some
  /// readers split. True when it says something that was not known: a new cause, or a known one for the first time
  /// since the driver was loaded. Mere repetition only counts.
  bool feed(Time at, LogSource source, std::string_view record);

  /// In the order in which each was said first. Beyond kMaxKernelLogEvents the oldest is left out; applications' faults
  /// go before any other.
  const std::vector<KernelLogEvent>& events() const { return events_; }

 private:
  /// A message of several lines that is not complete.
  struct Message {
    enum class Kind : std::uint8_t { None, ApiMismatch, Gpu, Trace };
    Kind kind = Kind::None;
    std::string text;
    Time at{};
    std::size_t lines = 0;
    std::string gpu;
    bool told = false;  ///< it is an event; further lines only complete its text
    LogLine as{};
  };

  bool feed_line(Time at, LogSource source, std::string_view line);
  bool feed_kernel_line(Time at, std::string_view line);
  bool feed_message(Time at, std::string_view line);
  bool feed_trace(Time at, std::string_view line);
  /// `modules`: what a list of the modules in memory says of nvidia's. One of them that was being loaded or unloaded is
  /// a sign by itself; else the list only completes what stands around it.
  bool feed_modules(Time at, std::string_view modules, bool is_marked);
  bool start_message(Time at, std::string_view line);
  bool judge_message();
  bool add(Time at, const LogLine& line, std::string_view text);
  KernelLogEvent* find(const LogLine& line);
  void make_room();

  std::vector<KernelLogEvent> events_;
  Message message_;
  std::string note_;  ///< of the newest "BUG:", "BAR1 is 0M": what the lines behind it are about
  Time note_at_{};
  Time load_began_{};
};

}  // namespace gpuskew
