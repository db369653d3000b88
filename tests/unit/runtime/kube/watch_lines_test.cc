#include "runtime/kube/watch_lines.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(WatchLines, PutsLinesTogetherWhereverTheyWereCut) {
  const std::string text = "one\n\ntwo\r\nthree\nhalf";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    WatchLines lines(100);
    std::string seen;
    for (std::size_t at = 0; at < text.size(); at += step) {
      ASSERT_TRUE(lines.add(std::string_view(text).substr(at, step)));
      while (const auto line = lines.next()) {
        seen += std::string(*line) + ";";
      }
    }
    EXPECT_EQ(seen, "one;two;three;") << step;
  }
}

TEST(WatchLines, RefusesALineThatDoesNotEnd) {
  WatchLines lines(10);
  EXPECT_TRUE(lines.add("0123456789"));
  const auto added = lines.add("0");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error(), (Error{ErrorCode::TooLarge, "an event is longer than 10 bytes"}));
}

}  // namespace
}  // namespace gpuskew
