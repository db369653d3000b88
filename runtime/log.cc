#include "runtime/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "runtime/systemd.h"

namespace gpuskew {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"error", "warning", "info", "debug"};
/// syslog(3)'s numbers for the levels above.
constexpr std::array<int, 4> kPriorities = {3, 4, 6, 7};
/// "error" and "debug", so that messages of the common levels stand in one column.
constexpr std::size_t kLevelWidth = 5;
constexpr std::string_view kCutMark = "...";

/// At most `limit` bytes of `text`, not cut inside a UTF-8 sequence; whether something was cut.
std::pair<std::string_view, bool> cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return {text, false};
  }
  std::size_t end = limit - kCutMark.size();
  constexpr unsigned kTopTwoBits = 0xc0;
  constexpr unsigned kContinuation = 0x80;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & kTopTwoBits) == kContinuation) {
    --end;
  }
  return {text.substr(0, end), true};
}

bool is_control(unsigned char byte) {
  return byte < 0x20 || byte == 0x7f;
}

/// U+0080 to U+009F in UTF-8: terminals obey some of them like ESC.
bool is_c1_control(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]) == 0xc2 && at + 1 < text.size() &&
         static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

void append_hex(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 0xfU];
}

void append_escaped(std::string& out, std::string_view text, bool inside_quotes) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char character = text[at];
    const auto byte = static_cast<unsigned char>(character);
    if (character == '\n') {
      out += "\\n";
    } else if (character == '\t') {
      out += "\\t";
    } else if (is_control(byte) || is_c1_control(text, at)) {
      append_hex(out, byte);
    } else if (inside_quotes && (character == '"' || character == '\\')) {
      out += '\\';
      out += character;
    } else {
      out += character;
    }
  }
}

bool needs_quotes(std::string_view value) {
  return value.empty() || std::any_of(value.begin(), value.end(), [](char character) {
           return character == ' ' || character == '"' || character == '\\' || character == '=' ||
                  is_control(static_cast<unsigned char>(character));
         });
}

void append_value(std::string& out, std::string_view value) {
  const auto [shown, was_cut] = cut(value, kMaxLogValueBytes);
  const bool quoted = needs_quotes(shown);
  out += quoted ? "\"" : "";
  append_escaped(out, shown, quoted);
  out += was_cut ? kCutMark : "";
  out += quoted ? "\"" : "";
}

std::string timestamp(Time now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int{date.year()},
                                   unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(time.hours().count()),
                                   static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                                   static_cast<int>(time.subseconds().count()));
  return std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::string_view to_string(LogLevel level) {
  return kLevelNames.at(static_cast<std::size_t>(level));
}

Result<LogLevel> parse_log_level(std::string_view text) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), text);
  if (found == kLevelNames.end()) {
    return fail(ErrorCode::Malformed, "log level '" + std::string(text) + "' is not error, warning, info or debug");
  }
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

std::string format_log_line(Time now, LogLevel level, std::string_view message, std::span<const LogField> fields) {
  std::string line = timestamp(now);
  line += ' ';
  line += to_string(level);
  line.append(kLevelWidth - std::min(kLevelWidth, to_string(level).size()) + 1, ' ');
  const auto [shown, was_cut] = cut(message, kMaxLogMessageBytes);
  append_escaped(line, shown, false);
  line += was_cut ? kCutMark : "";
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  line += '\n';
  return line;
}

std::vector<std::string> journal_fields(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  std::vector<std::string> entry;
  entry.reserve(fields.size() + 2);
  const auto add = [&entry](std::string key, std::string_view value, std::size_t limit) {
    const auto [shown, was_cut] = cut(value, limit);
    key += '=';
    key += shown;
    key += was_cut ? kCutMark : "";
    entry.push_back(std::move(key));
  };
  add("MESSAGE", message, kMaxLogMessageBytes);
  add("PRIORITY", std::to_string(kPriorities.at(static_cast<std::size_t>(level))), kMaxLogValueBytes);
  for (const LogField& field : fields) {
    std::string key = "GPUSKEW_";
    for (const char character : field.key) {
      key += static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
    }
    add(std::move(key), field.value, kMaxLogValueBytes);
  }
  return entry;
}

bool is_journal_stream(const char* journal_stream, int fd) {
  if (journal_stream == nullptr) {
    return false;
  }
  const std::string_view text(journal_stream);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  dev_t device = 0;
  ino_t inode = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), text.data() + colon, device);
  const auto second = std::from_chars(text.data() + colon + 1, end, inode);
  if (first.ec != std::errc() || first.ptr != text.data() + colon || second.ec != std::errc() || second.ptr != end) {
    return false;
  }
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

Log::Log(int fd, LogLevel level) : fd_(fd), level_(level) {}

Log Log::from_environment(LogLevel level) {
  Log log(STDERR_FILENO, level);
  if (!is_journal_stream(std::getenv("JOURNAL_STREAM"), STDERR_FILENO)) {
    return log;
  }
  auto library = SystemdLibrary::load();
  if (library) {
    log.journal_ = std::move(*library);
  } else {
    log.warning("logging text to the journal, without fields", {{"reason", library.error().what}});
  }
  return log;
}

void Log::write(LogLevel level, std::string_view message, std::span<const LogField> fields) const {
  if (level > level_) {
    return;
  }
  if (journal_) {
    std::vector<std::string> entry = journal_fields(level, message, fields);
    if (journal_->send_to_journal(entry)) {
      return;
    }
  }
  const Time now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const std::string line = format_log_line(now, level, message, fields);
  [[maybe_unused]] const ssize_t written = ::write(fd_, line.data(), line.size());
}

void Log::error(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::Error, message, fields);
}

void Log::warning(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::Warning, message, fields);
}

void Log::info(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::Info, message, fields);
}

void Log::debug(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::Debug, message, fields);
}

}  // namespace gpuskew
