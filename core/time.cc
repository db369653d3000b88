#include "core/time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace gpuskew {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

void append_padded(std::string& out, std::int64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  out.append(width > digits.size() ? width - digits.size() : 0, '0');
  out += digits;
}

struct Unit {
  std::string_view name;
  Duration length;
};

constexpr std::array<Unit, 4> kShownUnits{
    {{"d", hours(24)}, {"h", hours(1)}, {"m", std::chrono::minutes(1)}, {"s", seconds(1)}}};
constexpr Unit kMilliseconds{"ms", Duration(1)};

constexpr Duration kLongestDuration = days(3650);

/// `digits` digits at `at`, or -1.
int digits_at(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') {
      return -1;
    }
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool has_separators(std::string_view text) {
  return text.size() >= 20 && text[4] == '-' && text[7] == '-' && (text[10] == 'T' || text[10] == 't') &&
         text[13] == ':' && text[16] == ':' && (text.back() == 'Z' || text.back() == 'z');
}

/// Milliseconds of ".123456"; nullopt when it is no fraction.
std::optional<int> fraction_ms(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  if (text.front() != '.' || text.size() < 2 || text.find_first_not_of("0123456789", 1) != std::string_view::npos) {
    return std::nullopt;
  }
  std::string three(text.substr(1, 3));
  three.resize(3, '0');
  return digits_at(three, 0, 3);
}

}  // namespace

std::string to_rfc3339(Time t) {
  constexpr sys_seconds kFirst{};
  constexpr sys_seconds kLast = sys_days(std::chrono::year(9999) / 12 / 31) + hours(24) - seconds(1);
  const sys_seconds second = std::clamp(floor<seconds>(t), kFirst, kLast);
  const sys_days day = floor<days>(second);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(second - day);
  std::string out;
  append_padded(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, clock.hours().count(), 2);
  out += ':';
  append_padded(out, clock.minutes().count(), 2);
  out += ':';
  append_padded(out, clock.seconds().count(), 2);
  out += 'Z';
  return out;
}

Result<Time> parse_rfc3339(std::string_view text) {
  const auto malformed = [text] { return fail(ErrorCode::Malformed, in_quotes(text) + " is no UTC time (RFC 3339)"); };
  if (!has_separators(text)) {
    return malformed();
  }
  const int year = digits_at(text, 0, 4);
  const int month = digits_at(text, 5, 2);
  const int day = digits_at(text, 8, 2);
  const int hour = digits_at(text, 11, 2);
  const int minute = digits_at(text, 14, 2);
  const int second = digits_at(text, 17, 2);
  const std::optional<int> ms = fraction_ms(text.substr(19, text.size() - 20));
  if (year < 0 || month < 1 || day < 1 || !ms) {
    return malformed();
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return malformed();
  }
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + std::chrono::milliseconds(*ms);
}

std::string to_short_text(Duration span) {
  std::string out;
  for (const Unit& unit : kShownUnits) {
    const auto count = span / unit.length;
    if (count <= 0) {
      if (!out.empty()) {
        break;  // "1d" rather than "1d5m": only neighbours stand together
      }
      continue;
    }
    const bool second_unit = !out.empty();
    out += std::to_string(count);
    out += unit.name;
    span -= count * unit.length;
    if (second_unit) {
      break;
    }
  }
  return out.empty() ? "0s" : out;
}

Result<Duration> parse_duration(std::string_view text) {
  const auto malformed = [text] {
    return fail(ErrorCode::Malformed,
                in_quotes(text) + " is not a duration: write a whole number and ms, s, m, h or d, as in 30s");
  };
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || text.front() < '0' || text.front() > '9') {
    return malformed();
  }
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto* unit =
      std::find_if(kShownUnits.begin(), kShownUnits.end(), [name](const Unit& u) { return u.name == name; });
  const Duration length = unit != kShownUnits.end() ? unit->length : kMilliseconds.length;
  if (unit == kShownUnits.end() && name != kMilliseconds.name) {
    return malformed();
  }
  if (error != std::errc() || count > kLongestDuration / length) {
    return fail(ErrorCode::TooLarge, in_quotes(text) + " is longer than ten years");
  }
  return count * length;
}

}  // namespace gpuskew
