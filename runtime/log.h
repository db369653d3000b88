#pragma once

// One line an event, for people and for journald. Text to a descriptor:
//   2026-11-30T16:05:37.123Z info  message key=value key="quoted when blank or empty"
// Under journald the same event becomes MESSAGE, PRIORITY and GPUSKEW_<KEY> fields.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

class SystemdLibrary;

enum class LogLevel : std::uint8_t { Error, Warning, Info, Debug };

/// "error", "warning", "info", "debug".
std::string_view to_string(LogLevel level);
Result<LogLevel> parse_log_level(std::string_view text);

/// Longer messages and values are cut and end in "...": what a peer sends must not fill the log.
inline constexpr std::size_t kMaxLogMessageBytes = 2048;
inline constexpr std::size_t kMaxLogValueBytes = 1024;

/// A key (lower case, digits, '_'; chosen by us, never by a peer) and its value as text.
struct LogField {
  LogField(std::string_view field_key, std::string field_value) : key(field_key), value(std::move(field_value)) {}
  LogField(std::string_view field_key, std::string_view field_value) : key(field_key), value(field_value) {}
  LogField(std::string_view field_key, const char* field_value) : key(field_key), value(field_value) {}
  LogField(std::string_view field_key, bool yes) : key(field_key), value(yes ? "yes" : "no") {}
  template <std::integral T>
  LogField(std::string_view field_key, T number) : key(field_key), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

/// The text form of one event, with its newline. Control characters and quotes are escaped (\n, \x1b, \").
std::string format_log_line(Time now, LogLevel level, std::string_view message, std::span<const LogField> fields);

/// The journald form: "MESSAGE=...", "PRIORITY=6", "GPUSKEW_PEER=...". Values keep their bytes, cut to their limit.
std::vector<std::string> journal_fields(LogLevel level, std::string_view message, std::span<const LogField> fields);

/// Whether descriptor `fd` is the one systemd connected to the journal: `journal_stream` is the value of
/// $JOURNAL_STREAM, "<device>:<inode>" in decimal (systemd.exec(5)). A program whose output was redirected does not
/// match.
bool is_journal_stream(const char* journal_stream, int fd);

/// Made once in main and passed by reference. One write(2) a line, so lines of two processes do not mix.
/// A line that can not be written is lost: a log must not stop a daemon.
class Log {
 public:
  /// To stderr, or to the journal when stderr is connected to it. When the journal is there and libsystemd is not,
  /// writes text and says so in a warning.
  static Log from_environment(LogLevel level = LogLevel::Info);

  /// Text to `fd`, which the caller keeps open for this object's life.
  explicit Log(int fd, LogLevel level = LogLevel::Info);

  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;

  void set_level(LogLevel level) { level_ = level; }
  LogLevel level() const { return level_; }

 private:
  void write(LogLevel level, std::string_view message, std::span<const LogField> fields) const;

  int fd_;
  LogLevel level_;
  std::shared_ptr<const SystemdLibrary> journal_;  // null: text to fd_
};

}  // namespace gpuskew
