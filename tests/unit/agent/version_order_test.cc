#include "agent/probes/version_order.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

int sign(int order) {
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

TEST(RpmOrder, IsByNumbersLettersAndSigns) {
  EXPECT_LT(rpm_order("5.14.0-427.9.1", "5.14.0-427.13.1"), 0);
  EXPECT_EQ(rpm_order("1.0", "1-0"), 0);
  EXPECT_EQ(rpm_order("1.01", "1.1"), 0);
  EXPECT_LT(rpm_order("1.0~rc1", "1.0"), 0);
  EXPECT_GT(rpm_order("1.0^git1", "1.0"), 0);
  EXPECT_LT(rpm_order("1.0^git1", "1.0.1"), 0);
  EXPECT_GT(rpm_order("1.1", "1.a"), 0);
  EXPECT_GT(rpm_order("1.0.1", "1.0"), 0);
  EXPECT_LT(rpm_order("0", "427.13.1.el9_4"), 0);
  EXPECT_GT(rpm_order("99999999999999999999999", "9999999999999999999999"), 0);
}

TEST(UapiOrder, IsTheSpecificationsOwnList) {
  const char* rising[] = {"~1",    "",        "ab",         "abb",   "abc",     "0001",    "002",    "12",
                          "122",   "122.9",   "123~rc1",    "123",   "123-a",   "123-a.1", "123-a1", "123-a1.1",
                          "123-3", "123-3.1", "123^patch1", "123^1", "123.a-1", "123.1-1", "123a-1", "124"};
  const std::size_t count = std::size(rising);
  for (std::size_t older = 0; older < count; ++older) {
    for (std::size_t newer = 0; newer < count; ++newer) {
      const int expected = older < newer ? -1 : (older > newer ? 1 : 0);
      EXPECT_EQ(sign(uapi_order(rising[older], rising[newer])), expected) << rising[older] << " " << rising[newer];
    }
  }
}

TEST(UapiOrder, SortsKernelsByNumber) {
  EXPECT_LT(uapi_order("5.15.0-99-generic", "5.15.0-119-generic"), 0);
  EXPECT_LT(uapi_order("6.1.0-57-amd64", "6.1.0-57-cloud-amd64"), 0);
}

RC_GTEST_PROP(VersionOrder, IsTheSameBothWays, (std::string a, std::string b)) {
  RC_ASSERT(sign(rpm_order(a, b)) == -sign(rpm_order(b, a)));
  RC_ASSERT(sign(uapi_order(a, b)) == -sign(uapi_order(b, a)));
  RC_ASSERT(uapi_order(a, a) == 0);
  RC_ASSERT(rpm_order(b, b) == 0);
}

}  // namespace
}  // namespace gpuskew
