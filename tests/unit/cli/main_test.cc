// The shipped program: exit codes, standard output and standard error of a real process.

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/process.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

class MainTest : public testing::Test {
 protected:
  MainTest() { play_aggregator(server_); }

  Outcome gpuskew(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), GPUSKEW_BINARY);
    return run(arguments, {{"GPUSKEW_SERVER", server_.url()}});
  }

  HttpImposter server_;
};

TEST_F(MainTest, EndsWithTheAnswersExitCode) {
  EXPECT_EQ(gpuskew({"status"}).code, 1);
  EXPECT_EQ(gpuskew({"nodes"}).code, 0);
  EXPECT_EQ(gpuskew({"audit"}).code, 1);
  EXPECT_EQ(gpuskew({"explain", "n9"}).code, 2);
}

TEST_F(MainTest, PrintsToAPipeWithoutColorAndUncut) {
  const Outcome outcome = gpuskew({"explain", "t4-03"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(outcome.out.find("…"), std::string::npos);
}

TEST_F(MainTest, TakesColorWhenToldTo) {
  EXPECT_NE(gpuskew({"status", "--color", "always"}).out.find("\x1b[1;31m"), std::string::npos);
}

TEST_F(MainTest, MakesATagWithoutAnAggregator) {
  const Outcome outcome = run({GPUSKEW_BINARY, "tag", "--kernel", "5.15.0-119-generic", "--os", "ubuntu",
                               "--os-version", "22.04", "--driver", "550.90.07"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "550-5.15.0-119-generic-ubuntu22.04\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(MainTest, NamesTheFlagOfAMissingPart) {
  const Outcome outcome =
      run({GPUSKEW_BINARY, "tag", "--kernel", "5.15.0-119-generic", "--os", "ubuntu", "--driver", "550.90.07"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("--os-version"), std::string::npos) << outcome.err;
}

TEST_F(MainTest, SaysInOneLineWhatIsWrong) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"stauts"}, {"status", "--server", "http://127.0.0.1:1"}, {"--bogus"}, {"explain"}}) {
    const Outcome outcome = gpuskew(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST_F(MainTest, TellsWhenStandardOutputTakesNothing) {
  const std::string command = std::string(GPUSKEW_BINARY) + " nodes > /dev/full";
  const Outcome outcome = run({"sh", "-c", command}, {{"GPUSKEW_SERVER", server_.url()}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("could not write standard output: No space left"), std::string::npos) << outcome.err;
}

/// What the program writes to a terminal of that many columns.
std::string on_terminal(unsigned short columns, const std::string& url) {
  winsize size{24, columns, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("GPUSKEW_SERVER", url.c_str(), 1);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C", 1);
    unsetenv("NO_COLOR");
    execl(GPUSKEW_BINARY, "gpuskew", "nodes", nullptr);
    _exit(127);
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(terminal, buffer.data(), buffer.size());
    if (got <= 0) {
      break;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST_F(MainTest, FitsATerminalAndPaintsIt) {
  const std::string text = on_terminal(100, server_.url());
  EXPECT_NE(text.find("\x1b[1;31mbroken\x1b[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("…\r\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace gpuskew
