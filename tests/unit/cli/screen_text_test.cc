#include "aggregator/cli/screen_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("Ü"), 1U);
  EXPECT_EQ(display_width("漢字"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);
}

TEST(CutTo, LeavesWhatFits) {
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("", 0), "");
}

TEST(CutTo, EndsWhatDoesNotFitInAnEllipsis) {
  EXPECT_EQ(cut_to("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to("abcdef", 1), "…");
  EXPECT_EQ(cut_to("abcdef", 0), "");
}

TEST(CutTo, NeverCutsAWideCharacterInHalf) {
  EXPECT_EQ(cut_to("漢字漢字", 4), "漢…");
  EXPECT_EQ(cut_to("漢字漢字", 5), "漢字…");
}

RC_GTEST_PROP(CutTo, NeverTakesMoreColumnsThanGiven, (const std::string& text, std::uint8_t columns)) {
  RC_ASSERT(display_width(cut_to(printable(text), columns)) <= columns);
}

}  // namespace
}  // namespace gpuskew
