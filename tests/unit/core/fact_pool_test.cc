#include "core/fact_pool.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(FactPool, EqualFactsShareOneValue) {
  FactPool pool;
  auto first = Fact<std::string>::known("x86_64", "/sbin/init");
  auto second = Fact<std::string>::known("x86_64", "/sbin/init");
  pool.share(first, 7);
  pool.share(second, 7);
  EXPECT_EQ(&first.value(), &second.value());
  EXPECT_EQ(second.source(), "/sbin/init");
  EXPECT_EQ(pool.size(), 1u);
}

TEST(FactPool, AHashOfTwoFactsMixesNothingUp) {
  FactPool pool;
  auto first = Fact<std::string>::known("x86_64", "/sbin/init");
  auto other = Fact<std::string>::known("aarch64", "/sbin/init");
  auto source = Fact<std::string>::known("x86_64", "/bin/sh");
  auto number = Fact<int>::known(7, "/sbin/init");
  pool.share(first, 7);
  pool.share(other, 7);
  pool.share(source, 7);
  pool.share(number, 7);
  pool.share(first, 7);
  EXPECT_EQ(first, Fact<std::string>::known("x86_64", "/sbin/init"));
  EXPECT_EQ(other, Fact<std::string>::known("aarch64", "/sbin/init"));
  EXPECT_EQ(source, Fact<std::string>::known("x86_64", "/bin/sh"));
  EXPECT_EQ(number, Fact<int>::known(7, "/sbin/init"));
}

TEST(FactPool, KeepsAbsentAndUnknownFactsAsTheyAre) {
  FactPool pool;
  auto absent = Fact<int>::absent("/a");
  auto unknown = Fact<int>::unknown(Error{ErrorCode::Denied, "permission denied"}, "/a");
  Fact<int> nobody;
  pool.share(absent, 1);
  pool.share(unknown, 2);
  pool.share(nobody, 3);
  EXPECT_TRUE(absent.is_absent());
  EXPECT_EQ(unknown.why().what, "permission denied");
  EXPECT_EQ(nobody, Fact<int>());
}

TEST(FactPool, ForgetsWhatNobodyHasAnyMore) {
  FactPool pool;
  auto kept = Fact<int>::known(-1, "kept");
  pool.share(kept, 1'000'000);
  for (int at = 0; at < 100'000; ++at) {
    auto passing = Fact<int>::known(at, "passing");
    pool.share(passing, static_cast<std::uint64_t>(at));
  }
  EXPECT_LT(pool.size(), 2'000u);
  auto again = Fact<int>::known(-1, "kept");
  pool.share(again, 1'000'000);
  EXPECT_EQ(&again.value(), &kept.value());
}

TEST(FactPool, KeepsWhatIsInUseHoweverMuch) {
  FactPool pool;
  std::vector<Fact<int>> all;
  for (int at = 0; at < 5'000; ++at) {
    pool.share(all.emplace_back(Fact<int>::known(at, "s")), static_cast<std::uint64_t>(at));
  }
  EXPECT_EQ(pool.size(), 5'000u);
}

}  // namespace
}  // namespace gpuskew
