#include <gtest/gtest.h>

#include "core/facts/install.h"
#include "tests/unit/core/nodes.h"

namespace gpuskew {
namespace {

using testing::driver;
using testing::kBoot;
using testing::known;

std::optional<DriverVersion> in(const char* version) {
  return driver_version(InstallTrace{InstallKind::Deb, InstallPart::UserSpace, "x", version, "test"});
}

TEST(DriverVersionOfATrace, IsWhatStandsBeforeRevisionAndBehindEpoch) {
  EXPECT_EQ(in("550.107.02-0ubuntu0.24.04.1"), driver("550.107.02"));
  EXPECT_EQ(in("535.183.01-1~deb12u1"), driver("535.183.01"));
  EXPECT_EQ(in("3:550.90.07-1.el9"), driver("550.90.07"));
  EXPECT_EQ(in("580.95.05"), driver("580.95.05"));
  EXPECT_EQ(in("550.127.05_k6.4.0_150600.21-lp156.4.1"), driver("550.127.05"));
  EXPECT_EQ(in("460.56-0ubuntu0.20.04.1"), driver("460.56"));
}

TEST(DriverVersionOfATrace, IsNoneForAKernelsOrNone) {
  EXPECT_EQ(in("6.8.0-52.53~22.04.1+1"), std::nullopt);
  EXPECT_EQ(in("1:5.15.0-91.101"), std::nullopt);
  EXPECT_EQ(in(""), std::nullopt);
  EXPECT_EQ(in("git550"), std::nullopt);
  EXPECT_EQ(in("550"), std::nullopt);
}

KernelLogEvent loaded_at(Time at) {
  KernelLogEvent event;
  event.kind = KernelLogKind::DriverLoaded;
  event.first_at = kBoot;
  event.last_at = at;
  return event;
}

TEST(MarkAge, ToldByTheNewestLoadOfTheDriver) {
  const auto log = known(std::vector<KernelLogEvent>{loaded_at(kBoot + std::chrono::minutes(10))});
  const ValidationMark before{"toolkit-ready", kBoot + std::chrono::minutes(5)};
  const ValidationMark after{"driver-ready", kBoot + std::chrono::minutes(11)};
  EXPECT_EQ(mark_age(before, known(kBoot), log), MarkAge::Stale) << "toolkit-ready outlives a driver's restart";
  EXPECT_EQ(mark_age(after, known(kBoot), log), MarkAge::Fresh);
}

TEST(MarkAge, OfABootBeforeIsStaleWithoutAnyLog) {
  const ValidationMark mark{"driver-ready", kBoot - std::chrono::hours(1)};
  EXPECT_EQ(mark_age(mark, known(kBoot), Fact<std::vector<KernelLogEvent>>()), MarkAge::Stale);
}

TEST(MarkAge, IsUnknownWhereTheLoadIsNot) {
  const ValidationMark mark{"driver-ready", kBoot + std::chrono::hours(1)};
  EXPECT_EQ(mark_age(mark, known(kBoot), Fact<std::vector<KernelLogEvent>>()), MarkAge::Unknown);
  // A log that was read and has lost its beginning.
  EXPECT_EQ(mark_age(mark, known(kBoot), known(std::vector<KernelLogEvent>{})), MarkAge::Unknown);
  const auto log = known(std::vector<KernelLogEvent>{loaded_at(kBoot)});
  EXPECT_EQ(mark_age(mark, Fact<Time>(), log), MarkAge::Fresh);
}

}  // namespace
}  // namespace gpuskew
