#include "proto/text.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpuskew/v1/agent.pb.h"

namespace gpuskew {
namespace {

std::string replaced(std::string_view text) {
  std::string to = "left over";
  assign_utf8(to, text);
  return to;
}

TEST(Text, TakesCharactersOfEveryLength) {
  const std::string text = "a\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF";
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(replaced(text), text);
}

TEST(Text, RefusesOverlongFormsSurrogatesAndWhatIsPastTheLastCodePoint) {
  for (const char* bad : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x9A"}) {
    EXPECT_FALSE(is_utf8(bad)) << testing::PrintToString(std::string(bad));
  }
}

TEST(Text, ReplacesOnlyTheBadBytes) {
  EXPECT_EQ(replaced("12345678\xE9 caf\xC3\xA9 \xE2\x82"), "12345678? caf\xC3\xA9 ??");
  EXPECT_EQ(replaced("\xFF"), "?");
  EXPECT_EQ(replaced(""), "");
}

TEST(Text, KeepsNulBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(replaced(text), text);
}

// protobuf's parser is the judge that counts.
RC_GTEST_PROP(Text, WhatIsWrittenIsWhatProtobufTakes, (const std::string& any)) {
  v1::Refusal message;
  assign_utf8(*message.mutable_reason(), any);
  v1::Refusal parsed;
  RC_ASSERT(parsed.ParseFromString(message.SerializeAsString()));
  RC_ASSERT(parsed.reason().size() == any.size());
  RC_ASSERT(is_utf8(any) == (parsed.reason() == any));
}

TEST(Text, ControlCharactersOfAPeerNeverReachATerminal) {
  EXPECT_EQ(shown_text("a\x1b[2Jb\n\x7f"), "a?[2Jb??");
  EXPECT_EQ(shown_text("CSI \xC2\x9B"
                       "31m"),
            "CSI ??31m");
  EXPECT_EQ(shown_text("nbsp \xC2\xA0 and \xE2\x82\xAC stay"), "nbsp \xC2\xA0 and \xE2\x82\xAC stay");
}

TEST(Text, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(shown_text("12345", 5), "12345");
  EXPECT_EQ(shown_text("123456", 5), "12...");
  EXPECT_EQ(shown_text("1\xE2\x82\xAC\xE2\x82\xAC", 6), "1...");
  EXPECT_EQ(shown_text("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 6), "\xE2\x82\xAC...");
  const std::string longest = shown_text(std::string(kMaxWireText + 1, 'x'));
  EXPECT_EQ(longest.size(), kMaxWireText);
  EXPECT_EQ(shown_text(longest), longest);
}

TEST(Text, AQuoteIsShort) {
  EXPECT_EQ(quoted_text("a\nb"), "'a?b'");
  EXPECT_EQ(quoted_text(std::string(1000, 'x')).size(), kMaxQuoted + 2);
}

TEST(Text, AValueIsNeitherEmptyNorTooLongNorWithControlCharacters) {
  EXPECT_EQ(text_error("a b/é"), std::nullopt);
  EXPECT_EQ(text_error(std::string(kMaxWireText, 'x')), std::nullopt);
  EXPECT_EQ(text_error("")->code, ErrorCode::Malformed);
  EXPECT_EQ(text_error(std::string(kMaxWireText + 1, 'x'))->code, ErrorCode::TooLarge);
  EXPECT_EQ(text_error(std::string(kMaxWireText + 1, 'x'), kMaxWireText + 1), std::nullopt);
  EXPECT_EQ(text_error("a\nb"), (Error{ErrorCode::Malformed, "'a?b' has control characters"}));
}

}  // namespace
}  // namespace gpuskew
