#pragma once

// Time is a parameter in core: nothing here reads a clock.

#include <chrono>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

using Duration = std::chrono::milliseconds;
/// Wall-clock time, UTC, in milliseconds since the Unix epoch.
using Time = std::chrono::sys_time<Duration>;

constexpr Time from_unix_ms(std::int64_t ms) {
  return Time{Duration{ms}};
}
constexpr std::int64_t to_unix_ms(Time t) {
  return t.time_since_epoch().count();
}

/// RFC 3339 in UTC with whole seconds: "2026-11-30T16:05:37Z". Years 1970 to 9999; others are clamped.
std::string to_rfc3339(Time t);
/// Errors: Malformed. Fractions of a second are allowed and cut at milliseconds; UTC ("Z") only.
Result<Time> parse_rfc3339(std::string_view text);

/// A span for people, largest two units: "3d4h", "5m", "12s", "0s". Negative spans read "0s".
std::string to_short_text(Duration span);

/// "500ms", "30s", "10m", "2h", "7d", whole numbers only. Errors: Malformed, TooLarge (over ten years).
Result<Duration> parse_duration(std::string_view text);

}  // namespace gpuskew
