#include "runtime/backoff.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, GivesTheSameWaitsForTheSameSeed) {
  Backoff one(BackoffLimits{}, std::minstd_rand(7));
  Backoff other(BackoffLimits{}, std::minstd_rand(7));
  for (int attempt = 0; attempt < 20; ++attempt) {
    EXPECT_EQ(one.next(), other.next());
  }
}

TEST(Backoff, DiffersBetweenSeedsSoThatAFleetDoesNotComeBackInStep) {
  Backoff one(BackoffLimits{}, std::minstd_rand(1));
  Backoff other(BackoffLimits{}, std::minstd_rand(2));
  bool differs = false;
  for (int attempt = 0; attempt < 5; ++attempt) {
    differs = one.next() != other.next() || differs;
  }
  EXPECT_TRUE(differs);
}

TEST(Backoff, SpreadsLaterWaitsOverTheWholeRange) {
  Backoff backoff(BackoffLimits{milliseconds(1), seconds(60)}, std::minstd_rand(3));
  Duration least = hours(1);
  Duration most = Duration::zero();
  for (int attempt = 0; attempt < 500; ++attempt) {
    const Duration wait = backoff.next();
    if (attempt > 20) {
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
  }
  EXPECT_LT(least, seconds(5));
  EXPECT_GT(most, seconds(55));
}

TEST(Backoff, StartsAgainAfterAReset) {
  Backoff backoff(BackoffLimits{seconds(1), hours(1)}, std::minstd_rand(4));
  for (int attempt = 0; attempt < 20; ++attempt) {
    backoff.next();
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), seconds(2));
}

TEST(Backoff, DoesNotOverflowForAHugeMaximum) {
  Backoff backoff(BackoffLimits{milliseconds(1), Duration::max()}, std::minstd_rand(5));
  for (int attempt = 0; attempt < 200; ++attempt) {
    EXPECT_GE(backoff.next(), milliseconds(1));
  }
}

RC_GTEST_PROP(Backoff, StaysWithinItsLimitsAndDoublesAtMost, ()) {
  const auto min = *rc::gen::inRange<std::int64_t>(1, 10'000);
  const auto max = *rc::gen::inRange<std::int64_t>(min, 1'000'000);
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  Backoff backoff(BackoffLimits{Duration(min), Duration(max)}, std::minstd_rand(seed));
  Duration ceiling(min);
  for (int attempt = 0; attempt < 12; ++attempt) {
    ceiling = std::min(ceiling * 2, Duration(max));
    const Duration wait = backoff.next();
    RC_ASSERT(wait >= Duration(min));
    RC_ASSERT(wait <= ceiling);
  }
}

}  // namespace
}  // namespace gpuskew
