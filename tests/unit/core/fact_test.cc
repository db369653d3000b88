#include "core/fact.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(Fact, IsUnknownUntilSomebodyReadIt) {
  const Fact<int> fact;
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why(), (Error{ErrorCode::Unsupported, "not reported"}));
  EXPECT_EQ(fact.source(), "");
}

TEST(Fact, IsAbsentOnlyWhenTheThingWasNotFound) {
  const auto gone = Fact<int>::from(fail(ErrorCode::NotFound, "no such file"), "/a");
  const auto denied = Fact<int>::from(fail(ErrorCode::Denied, "permission denied"), "/a");
  const auto read = Fact<int>::from(7, "/a");
  EXPECT_TRUE(gone.is_absent());
  ASSERT_TRUE(denied.is_unknown());
  EXPECT_EQ(denied.why().what, "permission denied");
  ASSERT_TRUE(read.is_known());
  EXPECT_EQ(*read, 7);
  EXPECT_EQ(read.source(), "/a");
}

TEST(Fact, ComparesStateValueAndSource) {
  const auto seven = Fact<int>::known(7, "/a");
  EXPECT_EQ(seven, Fact<int>::known(7, "/a"));
  EXPECT_NE(seven, Fact<int>::known(8, "/a"));
  EXPECT_NE(seven, Fact<int>::known(7, "/b"));
  EXPECT_NE(seven, Fact<int>::absent("/a"));
  EXPECT_NE(Fact<int>::absent("/a"), Fact<int>::unknown({}, "/a"));
}

}  // namespace
}  // namespace gpuskew
