#include "runtime/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "runtime/file.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

/// 2026-11-30T16:05:37.123Z
constexpr Time kNow = from_unix_ms(1796054737123);

std::string line_of(LogLevel level, std::string_view message, std::vector<LogField> fields) {
  return format_log_line(kNow, level, message, fields);
}

TEST(FormatLogLine, WritesTimeLevelMessageAndFields) {
  EXPECT_EQ(line_of(LogLevel::Info, "listening for agents", {{"address", "127.0.0.1:43211"}, {"count", 3}}),
            "2026-11-30T16:05:37.123Z info  listening for agents address=127.0.0.1:43211 count=3\n");
  EXPECT_EQ(line_of(LogLevel::Warning, "m", {}), "2026-11-30T16:05:37.123Z warning m\n");
  EXPECT_EQ(line_of(LogLevel::Error, "m", {{"tls", false}}), "2026-11-30T16:05:37.123Z error m tls=no\n");
}

TEST(FormatLogLine, QuotesBlankEmptyAndAmbiguousValues) {
  EXPECT_EQ(
      line_of(LogLevel::Debug, "m", {{"a", "two words"}, {"b", ""}, {"c", "say \"x\""}, {"d", "k=v"}, {"e", "\\"}}),
      "2026-11-30T16:05:37.123Z debug m a=\"two words\" b=\"\" c=\"say \\\"x\\\"\" d=\"k=v\" e=\"\\\\\"\n");
}

TEST(FormatLogLine, KeepsAForgedLineInsideItsOwn) {
  const std::string line = line_of(LogLevel::Info, "refused\nforged", {{"peer", "a\r\n2026 info forged"}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find("refused\\nforged peer=\"a\\x0d\\n2026 info forged\""), std::string::npos) << line;
}

TEST(FormatLogLine, EscapesWhatATerminalObeys) {
  EXPECT_NE(line_of(LogLevel::Info, "m", {{"v", "\x1b[31m"}}).find("\"\\x1b[31m\""), std::string::npos);
  EXPECT_NE(line_of(LogLevel::Info, "\xc2\x9b", {}).find("\\xc2"), std::string::npos);
  EXPECT_NE(line_of(LogLevel::Info, "Zürich", {}).find("Zürich"), std::string::npos);
}

TEST(FormatLogLine, CutsALongValueAtItsLimit) {
  const std::string line = line_of(LogLevel::Info, "m", {{"v", std::string(100'000, 'x')}});
  EXPECT_LT(line.size(), kMaxLogValueBytes + 100);
  EXPECT_EQ(line.substr(line.size() - 5), "x...\n");
}

TEST(FormatLogLine, DoesNotCutInsideACharacter) {
  std::string value;
  while (value.size() < 2 * kMaxLogValueBytes) {
    value += "€";
  }
  const std::string line = line_of(LogLevel::Info, "m", {{"v", value}});
  EXPECT_EQ(line.substr(line.size() - 7), "€...\n");
}

TEST(JournalFields, CarriesPriorityAndPrefixedKeys) {
  const std::vector<LogField> fields = {{"peer_name", "node a\nb"}};
  EXPECT_EQ(journal_fields(LogLevel::Warning, "refused agent", fields),
            (std::vector<std::string>{"MESSAGE=refused agent", "PRIORITY=4", "GPUSKEW_PEER_NAME=node a\nb"}));
}

TEST(JournalFields, CutsALongValueAtItsLimit) {
  const std::vector<LogField> fields = {{"v", std::string(100'000, 'x')}};
  EXPECT_EQ(journal_fields(LogLevel::Info, "m", fields).back().size(),
            kMaxLogValueBytes + std::string("GPUSKEW_V=").size());
}

TEST(ParseLogLevel, ReadsTheFourWordsOnly) {
  for (const LogLevel level : {LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug}) {
    EXPECT_EQ(parse_log_level(to_string(level)).value(), level);
  }
  EXPECT_EQ(parse_log_level("loud").error().what, "log level 'loud' is not error, warning, info or debug");
}

class JournalStream : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(ends_.data()), 0);
    struct stat status {};
    ASSERT_EQ(::fstat(ends_[1], &status), 0);
    device_ = std::to_string(status.st_dev);
    inode_ = std::to_string(status.st_ino);
  }
  void TearDown() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  bool matches(const std::string& text) const { return is_journal_stream(text.c_str(), ends_[1]); }

  std::array<int, 2> ends_{};
  std::string device_;
  std::string inode_;
};

TEST_F(JournalStream, MatchesTheDeviceAndInodeOfTheDescriptor) {
  EXPECT_TRUE(matches(device_ + ":" + inode_));
}

TEST_F(JournalStream, DoesNotMatchWhenTheOutputWasRedirected) {
  EXPECT_FALSE(matches(device_ + ":" + inode_ + "1"));
  EXPECT_FALSE(matches("1" + device_ + ":" + inode_));
}

TEST_F(JournalStream, DoesNotMatchTextOfAnotherForm) {
  EXPECT_FALSE(is_journal_stream(nullptr, ends_[1]));
  for (const char* const text : {"", ":", "1", "x:y"}) {
    EXPECT_FALSE(matches(text)) << text;
  }
  EXPECT_FALSE(matches(device_ + ":" + inode_ + " "));
}

TEST(Log, WritesEnabledLevelsToItsDescriptor) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "log";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  Log log(fd);
  log.debug("hidden");
  log.info("shown", {{"n", 1}});
  log.set_level(LogLevel::Debug);
  log.debug("now shown");
  ::close(fd);
  const std::string text = read_file(path).value();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find(" info  shown n=1\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" debug now shown\n"), std::string::npos) << text;
}

TEST(Log, SurvivesADescriptorThatCanNotBeWritten) {
  const Log log(-1);
  log.error("lost");
}

}  // namespace
}  // namespace gpuskew
