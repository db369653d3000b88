#include "agent/nfd_file.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "runtime/file.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr Time kNow = from_unix_ms(1'796'094'000'000);  // 2026-12-01T03:00:00Z
const Labels kLabels{{"gpuskew.io/kernel", "5.15.0-119-generic"}, {"gpuskew.io/state", "ok"}};

class NfdFileTest : public ::testing::Test {
 protected:
  std::string text() const { return read_file(file_.path()).value_or("none"); }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(tree_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  ScratchTree tree_;
  NfdFile file_{tree_.path()};
};

TEST_F(NfdFileTest, SaysUntilWhenItCounts) {
  ASSERT_TRUE(file_.publish(kLabels, kNow).value());
  EXPECT_EQ(text(),
            "# +expiry-time=2026-12-01T04:00:00Z\n"
            "gpuskew.io/kernel=5.15.0-119-generic\n"
            "gpuskew.io/state=ok\n");
  EXPECT_EQ(files(), 1U) << "nothing beside it stays";
}

TEST_F(NfdFileTest, IsReadableByTheWorker) {
  ASSERT_TRUE(file_.publish(kLabels, kNow));
  EXPECT_EQ(std::filesystem::status(file_.path()).permissions(), std::filesystem::perms{0644});
}

TEST_F(NfdFileTest, IsWrittenOnlyWhenSomethingChangedOrTheEndIsNear) {
  ASSERT_TRUE(file_.publish(kLabels, kNow).value());
  EXPECT_FALSE(file_.publish(kLabels, kNow).value());
  EXPECT_FALSE(file_.publish(kLabels, kNow + kNfdLifetime - kNfdRefresh - Duration(1)).value());
  EXPECT_TRUE(file_.publish({{"gpuskew.io/state", "broken"}}, kNow).value());
  EXPECT_TRUE(file_.publish({{"gpuskew.io/state", "broken"}}, kNow + kNfdLifetime - kNfdRefresh).value());
  EXPECT_NE(text().find("2026-12-01T04:30:00Z"), std::string::npos) << text();
}

TEST_F(NfdFileTest, IsPutBackWhenSomebodyTookOrChangedIt) {
  ASSERT_TRUE(file_.publish(kLabels, kNow).value());
  tree_.remove("/gpuskew");
  EXPECT_TRUE(file_.publish(kLabels, kNow).value());
  tree_.write("/gpuskew", "gpuskew.io/state=fine\n");
  EXPECT_TRUE(file_.publish(kLabels, kNow).value());
  EXPECT_NE(text().find("gpuskew.io/state=ok"), std::string::npos);
}

TEST_F(NfdFileTest, DoesNotOutliveAClockThatWasSetBack) {
  ASSERT_TRUE(file_.publish(kLabels, kNow + std::chrono::hours(24)).value());
  EXPECT_TRUE(file_.publish(kLabels, kNow).value());
  EXPECT_NE(text().find("2026-12-01T04:00:00Z"), std::string::npos) << text();
}

TEST_F(NfdFileTest, SaysThatNobodyWouldReadIt) {
  NfdFile nowhere(tree_.path() / "features.d");
  const auto written = nowhere.publish(kLabels, kNow);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::NotFound);
  EXPECT_NE(written.error().what.find("features.d/gpuskew"), std::string::npos) << written.error().what;
}

TEST_F(NfdFileTest, IsNeverLongerThanNfdReads) {
  Labels many;
  for (int i = 0; i < 10'000; ++i) {
    many.emplace("gpuskew.io/x" + std::to_string(i), "y");
  }
  EXPECT_EQ(file_.publish(many, kNow).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace gpuskew
