#include "core/time.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Time, WritesRfc3339InWholeSeconds) {
  EXPECT_EQ(to_rfc3339(from_unix_ms(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(from_unix_ms(1'796'054'737'999)), "2026-11-30T16:05:37Z");
  EXPECT_EQ(to_rfc3339(from_unix_ms(1'709'164'800'000)), "2024-02-29T00:00:00Z");
}

TEST(ParseRfc3339, ReadsWhatTheServerWrites) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z").value(), from_unix_ms(0));
  EXPECT_EQ(parse_rfc3339("2026-11-30T16:05:37Z").value(), from_unix_ms(1'796'054'737'000));
  EXPECT_EQ(to_rfc3339(parse_rfc3339("2024-02-29T23:59:59Z").value()), "2024-02-29T23:59:59Z");
}

TEST(ParseRfc3339, CutsFractionsAtMilliseconds) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.5Z").value(), from_unix_ms(1500));
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.123999Z").value(), from_unix_ms(1123));
}

TEST(ParseRfc3339, RefusesEverythingElse) {
  for (const char* text :
       {"", "now", "2026-11-30", "2026-11-30 16:05:37Z", "2026-11-30T16:05:37", "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T16:05:37+01:00", "2026-11-30T16:05:37.Z",
        "2026-11-30T16:05:3xZ", "-026-11-30T16:05:37Z"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(Time, ClampsYearsThatRfc3339CanNotHold) {
  EXPECT_EQ(to_rfc3339(from_unix_ms(-1)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(from_unix_ms(std::numeric_limits<std::int64_t>::min())), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(from_unix_ms(253'402'300'799'999)), "9999-12-31T23:59:59Z");
  EXPECT_EQ(to_rfc3339(from_unix_ms(253'402'300'800'000)), "9999-12-31T23:59:59Z");
  EXPECT_EQ(to_rfc3339(from_unix_ms(std::numeric_limits<std::int64_t>::max())), "9999-12-31T23:59:59Z");
}

TEST(Time, ShowsTheLargestTwoUnits) {
  EXPECT_EQ(to_short_text(hours(76)), "3d4h");
  EXPECT_EQ(to_short_text(hours(76) + minutes(59)), "3d4h");
  EXPECT_EQ(to_short_text(hours(24) + minutes(5)), "1d");
  EXPECT_EQ(to_short_text(minutes(5)), "5m");
  EXPECT_EQ(to_short_text(minutes(5) + seconds(9)), "5m9s");
  EXPECT_EQ(to_short_text(seconds(12)), "12s");
  EXPECT_EQ(to_short_text(milliseconds(999)), "0s");
  EXPECT_EQ(to_short_text(Duration(0)), "0s");
  EXPECT_EQ(to_short_text(minutes(-5)), "0s");
  EXPECT_EQ(to_short_text(Duration::min()), "0s");
}

TEST(Time, ReadsDurations) {
  EXPECT_EQ(parse_duration("500ms"), Duration(500));
  EXPECT_EQ(parse_duration("30s"), seconds(30));
  EXPECT_EQ(parse_duration("10m"), minutes(10));
  EXPECT_EQ(parse_duration("2h"), hours(2));
  EXPECT_EQ(parse_duration("7d"), hours(168));
  EXPECT_EQ(parse_duration("0s"), Duration(0));
  EXPECT_EQ(parse_duration("3650d"), hours(87'600));
}

TEST(Time, RefusesWhatIsNoDuration) {
  for (const std::string text : {"", "s", "10", "10 s", " 10s", "10s ", "-5s", "+5s", "1.5h", "1h30m", "10S", "0x1s"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::Malformed) << text;
  }
  EXPECT_EQ(parse_duration("1.5h").error().what,
            "'1.5h' is not a duration: write a whole number and ms, s, m, h or d, as in 30s");
}

TEST(Time, RefusesDurationsOverTenYears) {
  for (const std::string text : {"3651d", "315360000001ms", "9223372036854775807d", "99999999999999999999999s"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::TooLarge) << text;
  }
}

RC_GTEST_PROP(TimeProperty, RfcTextsSortAsTheirTimesDo, ()) {
  const auto in_range = rc::gen::inRange<std::int64_t>(0, 253'402'300'800'000);
  const Time a = from_unix_ms(*in_range);
  const Time b = from_unix_ms(*in_range);
  RC_ASSERT(to_rfc3339(a).size() == 20U);
  RC_ASSERT((a > b || to_rfc3339(a) <= to_rfc3339(b)));
}

}  // namespace
}  // namespace gpuskew
