#include "core/printable.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

TEST(Printable, LeavesTextOfAnyLanguageAlone) {
  EXPECT_EQ(printable("plain, Ümläut, Юникод, 漢字, 👩"), "plain, Ümläut, Юникод, 漢字, 👩");
}

TEST(Printable, ShowsControlCharactersAsEscapes) {
  EXPECT_EQ(printable("a\x1b[31mred\x07\r\n\tb\x7f"), "a\\x1b[31mred\\x07\\r\\n\\tb\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, ShowsC1ControlsThatSomeTerminalsObey) {
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
}

TEST(Printable, ShowsMarksThatReorderText) {
  EXPECT_EQ(printable("rm \xe2\x80\xae"
                      "evil"),
            "rm \\u202eevil");
  EXPECT_EQ(printable("\xe2\x81\xa6x\xef\xbb\xbf"), "\\u2066x\\ufeff");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff\xc0\xaf\xed\xa0\x80"), "a\\xff\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(printable("cut \xe6\xbc"), "cut \\xe6\\xbc");
}

RC_GTEST_PROP(Printable, NeverLetsAnythingThroughThatActsOnATerminal, (const std::string& text)) {
  const std::string shown = printable(text);
  for (std::size_t at = 0; at < shown.size();) {
    const CodePoint point = code_point_at(shown, at);
    RC_ASSERT(point.valid);
    RC_ASSERT(!acts_on_terminal(point.value));
    at += point.bytes;
  }
  RC_ASSERT(printable(shown) == shown);
}

TEST(AsciiOnly, MarksEveryOtherByte) {
  EXPECT_EQ(ascii_only("nvidia-smi -q ~"), "nvidia-smi -q ~");
  EXPECT_EQ(ascii_only("caf\xc3\xa9\x1b\x7f\n"), "caf?????");
  EXPECT_EQ(ascii_only(""), "");
}

}  // namespace
}  // namespace gpuskew
