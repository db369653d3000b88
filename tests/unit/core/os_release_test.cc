#include "core/os_release.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

std::optional<std::string> value_of(std::string_view line) {
  return parse_os_release(line).get("A");
}

TEST(OsRelease, ReadsEachKindOfValue) {
  EXPECT_EQ(value_of("A=b"), "b");
  EXPECT_EQ(value_of("A="), "");
  EXPECT_EQ(value_of("A=\"\""), "");
  EXPECT_EQ(value_of("A=''"), "");
  EXPECT_EQ(value_of("A='$b \"c\" \\'"), "$b \"c\" \\");
  EXPECT_EQ(value_of("A=\"b\\n\\c\\\"\""), "b\\n\\c\"");
  EXPECT_EQ(value_of("A=b\\ c"), "b c");
  EXPECT_EQ(value_of("A=b=c;d"), "b=c;d");
  EXPECT_EQ(value_of("A=$b"), "$b") << "nothing is expanded";
  EXPECT_EQ(value_of("A=b#c"), "b#c");
  EXPECT_EQ(value_of("  \tA=b"), "b");
  EXPECT_EQ(value_of("A=\"\xd0\xb0\""), "\xd0\xb0");
}

TEST(OsRelease, TakesBlanksAndCommentsBehindAValue) {
  EXPECT_EQ(value_of("A=b  \t"), "b");
  EXPECT_EQ(value_of("A=\"b\"  "), "b");
  EXPECT_EQ(value_of("A=\"b\" # c"), "b");
  EXPECT_EQ(value_of("A=b # c"), "b");
  EXPECT_EQ(value_of("A=  "), "");
}

TEST(OsRelease, NotesEveryLineThatIsNoAssignment) {
  const auto note_of = [](std::string_view line) {
    const OsRelease release = parse_os_release(line);
    EXPECT_TRUE(release.fields.empty()) << line;
    return release.notes.empty() ? "" : release.notes.front();
  };
  EXPECT_EQ(note_of("A"), "line 1: no '=', ignoring the line");
  EXPECT_EQ(note_of("=b"), "line 1: '' is not a key, ignoring the line");
  EXPECT_EQ(note_of("1A=b"), "line 1: '1A' is not a key, ignoring the line");
  EXPECT_EQ(note_of("A =b"), "line 1: 'A ' is not a key, ignoring the line");
  EXPECT_EQ(note_of("\xd0\xb0=b"), "line 1: '?\?' is not a key, ignoring the line");
  EXPECT_EQ(note_of("A=b c"), "line 1: more than one word; a value with blanks needs quotes, ignoring the line");
  EXPECT_EQ(note_of("A= b"), "line 1: more than one word; a value with blanks needs quotes, ignoring the line");
  EXPECT_EQ(note_of("A=b\"c\""), "line 1: a quote inside an unquoted value, ignoring the line");
  EXPECT_EQ(note_of("A=\"b\"\"c\""), "line 1: something directly behind the closing quote, ignoring the line");
  EXPECT_EQ(note_of("A=\"b\"#c"), "line 1: something directly behind the closing quote, ignoring the line");
  EXPECT_EQ(note_of("A=\"b"), "line 1: the double quote is not closed, ignoring the line");
  EXPECT_EQ(note_of("A='b"), "line 1: the single quote is not closed, ignoring the line");
  EXPECT_EQ(note_of("A=b\\"), "line 1: a backslash at the end of the line, ignoring the line");
  EXPECT_EQ(note_of(std::string_view("A=b\0", 4)), "line 1: a control character, ignoring the line");
  EXPECT_EQ(note_of("A=\x1b[2J"), "line 1: a control character, ignoring the line");
  EXPECT_EQ(note_of("A=b\rB=c"), "line 1: a control character, ignoring the line");
}

TEST(OsRelease, ABadLineDoesNotOverrideAGoodOne) {
  const OsRelease release = parse_os_release("\n# c\nID=debian\nID=\"x\nVERSION_ID=12");
  EXPECT_EQ(release.get("ID"), "debian");
  EXPECT_EQ(release.get("VERSION_ID"), "12");
  EXPECT_EQ(release.notes, std::vector<std::string>{"line 4: the double quote is not closed, ignoring the line"});
}

TEST(OsRelease, TakesABomAndCrlf) {
  const OsRelease release = parse_os_release("\xef\xbb\xbfID=ubuntu\r\n\r\nVERSION_ID=\"22.04\"\r\n");
  EXPECT_EQ(release.get("ID"), "ubuntu");
  EXPECT_EQ(release.get("VERSION_ID"), "22.04");
  EXPECT_TRUE(release.notes.empty());
}

TEST(OsRelease, BoundsWhatAHostileFileCanGrow) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += "K" + std::to_string(i) + "=v\nbad\n";
  }
  const OsRelease release = parse_os_release(text + "K0=last\n");
  EXPECT_EQ(release.fields.size(), OsRelease::kMaxFields);
  EXPECT_EQ(release.notes.size(), OsRelease::kMaxNotes);
  EXPECT_EQ(release.notes.back(), "line 64 and maybe more: ignored as well");
  EXPECT_EQ(release.get("K0"), "last") << "a known key is still updated";
  EXPECT_EQ(parse_os_release(std::string(1 << 20, '\0')).notes.size(), 1U);
  EXPECT_EQ(parse_os_release("A=" + std::string(1 << 20, 'x')).get("A")->size(), 1U << 20);
}

TEST(OsIdentity, NeedsAnId) {
  EXPECT_EQ(os_identity(parse_os_release("")), std::nullopt);
  EXPECT_EQ(os_identity(parse_os_release("ID=\nVERSION_ID=1\n")), std::nullopt);
  EXPECT_EQ(os_identity(parse_os_release("VARIANT_ID=coreos\nXID=a\n")), std::nullopt);
  EXPECT_EQ(os_identity(parse_os_release("ID=a"))->version_id, std::nullopt);
  EXPECT_EQ(os_identity(parse_os_release("ID=a\nVERSION_ID="))->version_id, "");
}

RC_GTEST_PROP(OsReleaseProperty, SingleQuotesKeepAnyText, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab \"$`\\#=\t\xff\x80")));
  RC_ASSERT(value_of("A='" + text + "'") == text);
}

RC_GTEST_PROP(OsReleaseProperty, EveryLineIsAFieldANoteOrNothing, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("AB=\"'\\ #\n\r\0x", 12)));
  const OsRelease release = parse_os_release(text);
  for (const auto& [key, value] : release.fields) {
    RC_ASSERT(text.find(key + "=") != std::string::npos);
    RC_ASSERT(value.find_first_of(std::string("\n\r\0", 3)) == std::string::npos);
  }
}

}  // namespace
}  // namespace gpuskew
