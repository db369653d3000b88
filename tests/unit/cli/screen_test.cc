#include "aggregator/cli/screen.h"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

/// A real terminal's two ends.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    if (openpty(&master_, &slave_, nullptr, nullptr, &size) != 0) {
      throw std::runtime_error("openpty");
    }
  }
  ~Terminal() {
    ::close(master_);
    ::close(slave_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  int fd() const { return slave_; }

 private:
  int master_ = -1;
  int slave_ = -1;
};

const EnvVars kXterm = {{"TERM", "xterm-256color"}};

TEST(Screen, IsColoredAndAsWideAsTheTerminal) {
  const Terminal terminal(100);
  const Screen screen = screen_for(terminal.fd(), ColorChoice::Auto, kXterm);
  EXPECT_TRUE(screen.color);
  EXPECT_EQ(screen.columns, 100U);
}

TEST(Screen, HasNeitherColorNorWidthInAFile) {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const Screen screen = screen_for(file, ColorChoice::Auto, kXterm);
  ::close(file);
  EXPECT_FALSE(screen.color);
  EXPECT_EQ(screen.columns, std::nullopt);
}

TEST(Screen, HeedsNoColor) {
  const Terminal terminal(80);
  EXPECT_FALSE(screen_for(terminal.fd(), ColorChoice::Auto, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}).color);
  EXPECT_TRUE(screen_for(terminal.fd(), ColorChoice::Auto, {{"TERM", "xterm"}, {"NO_COLOR", ""}}).color);
}

TEST(Screen, HasNoColorOnADumbTerminal) {
  const Terminal terminal(80);
  EXPECT_FALSE(screen_for(terminal.fd(), ColorChoice::Auto, {{"TERM", "dumb"}}).color);
  EXPECT_FALSE(screen_for(terminal.fd(), ColorChoice::Auto, {}).color);
}

TEST(Screen, DoesAsToldWhateverTheTerminal) {
  const Terminal terminal(80);
  EXPECT_FALSE(screen_for(terminal.fd(), ColorChoice::Never, kXterm).color);
  EXPECT_TRUE(screen_for(-1, ColorChoice::Always, {{"NO_COLOR", "1"}}).color);
}

TEST(Screen, HasNoWidthWhenTheTerminalDoesNotKnowIts) {
  const Terminal terminal(0);
  EXPECT_EQ(screen_for(terminal.fd(), ColorChoice::Auto, kXterm).columns, std::nullopt);
}

TEST(Paint, AddsNothingWithoutColor) {
  EXPECT_EQ(paint("broken", Style::Critical, Screen{}), "broken");
  EXPECT_EQ(paint("plain", Style::Plain, Screen{true, {}}), "plain");
}

TEST(Paint, ResetsBehindTheText) {
  EXPECT_EQ(paint("broken", Style::Critical, Screen{true, {}}), "\x1b[1;31mbroken\x1b[0m");
}

TEST(StyleOf, LeavesWordsItDoesNotKnowPlain) {
  EXPECT_EQ(style_of_state("broken"), Style::Critical);
  EXPECT_EQ(style_of_state("unknown"), Style::Unknown);
  EXPECT_EQ(style_of_state("on-fire"), Style::Plain);
  EXPECT_EQ(style_of_severity("fatal"), Style::Plain);
}

}  // namespace
}  // namespace gpuskew
