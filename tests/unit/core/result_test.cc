#include "core/result.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(Result, NamesEveryCodeAsTheWireDoes) {
  EXPECT_EQ(to_string(ErrorCode::NotFound), "not-found");
  EXPECT_EQ(to_string(ErrorCode::Denied), "denied");
  EXPECT_EQ(to_string(ErrorCode::Malformed), "malformed");
  EXPECT_EQ(to_string(ErrorCode::TooLarge), "too-large");
  EXPECT_EQ(to_string(ErrorCode::Timeout), "timeout");
  EXPECT_EQ(to_string(ErrorCode::Unreachable), "unreachable");
  EXPECT_EQ(to_string(ErrorCode::Unsupported), "unsupported");
  EXPECT_EQ(to_string(ErrorCode::Internal), "internal");
  EXPECT_EQ(to_string(static_cast<ErrorCode>(200)), "internal");
}

TEST(Result, AddsContextOnTheLeftAndKeepsTheCode) {
  const Error cause{ErrorCode::Denied, "permission denied"};
  const Result<int> failed = fail("reading /sys/module/nvidia/version", cause);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), (Error{ErrorCode::Denied, "reading /sys/module/nvidia/version: permission denied"}));
}

TEST(Result, ShowsHostileTextHarmlessly) {
  EXPECT_EQ(in_quotes("22.04"), "'22.04'");
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes(std::string("a\0b\x1b[2J\n\xd0\xb0-", 11)), "'a?b?[2J?\?\?-'");
}

TEST(Result, CutsLongText) {
  const std::string megabyte(1 << 20, 'x');
  EXPECT_EQ(in_quotes(megabyte), "'" + std::string(80, 'x') + "...'");
  EXPECT_EQ(in_quotes(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
}

}  // namespace
}  // namespace gpuskew
