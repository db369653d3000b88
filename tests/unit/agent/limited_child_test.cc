#include "agent/limited_child.h"

#include <unistd.h>

#include <csignal>
#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

constexpr ChildLimits kLimits{std::chrono::seconds(20), 10, std::uint64_t{1} << 30, 1 << 20};

struct Answer {
  Result<void> result;
  std::string text;
};

Answer answer_of(const std::function<void(const ChildAnswer&)>& work, ChildLimits limits = kLimits) {
  Answer answer;
  answer.result =
      run_limited_child("counting", limits, work, [&answer](std::string_view piece) { answer.text += piece; });
  return answer;
}

TEST(LimitedChildTest, GivesAllThatTheChildSays) {
  const std::string large(300'000, 'x');
  const Answer answer = answer_of([&large](const ChildAnswer& say) {
    say("first ");
    say(large);
  });
  EXPECT_TRUE(answer.result);
  EXPECT_EQ(answer.text, "first " + large);
}

TEST(LimitedChildTest, ASignalIsAnErrorAndNotTheEndOfUs) {
  const Answer answer = answer_of([](const ChildAnswer& say) {
    say("half");
    ::raise(SIGKILL);
  });
  ASSERT_FALSE(answer.result);
  EXPECT_EQ(answer.result.error().what, "counting: its process was ended by signal 9");
  EXPECT_EQ(answer.text, "half");
}

TEST(LimitedChildTest, AnExitThatIsNotItsOwnIsAnError) {
  const Answer answer = answer_of([](const ChildAnswer&) { ::_exit(3); });
  ASSERT_FALSE(answer.result);
  EXPECT_EQ(answer.result.error().what, "counting: its process failed");
}

TEST(LimitedChildTest, TooMuchIsCutOff) {
  ChildLimits limits = kLimits;
  limits.answer = 100;
  const Answer answer = answer_of(
      [](const ChildAnswer& say) {
        while (say("0123456789")) {
        }
      },
      limits);
  ASSERT_FALSE(answer.result);
  EXPECT_EQ(answer.result.error().code, ErrorCode::TooLarge);
}

TEST(LimitedChildTest, ItIsNotWaitedForLongerThanItsLimit) {
  ChildLimits limits = kLimits;
  limits.wall = std::chrono::seconds(1);
  const Answer answer = answer_of([](const ChildAnswer&) { ::pause(); }, limits);
  ASSERT_FALSE(answer.result);
  EXPECT_EQ(answer.result.error().code, ErrorCode::Timeout);
  EXPECT_EQ(answer.result.error().what, "counting: it took longer than 1 s");
}

}  // namespace
}  // namespace gpuskew
