// The daemons as systemd sees them: sd_notify on a real socket, the watchdog, signals and exit codes.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

// systemd's end of $NOTIFY_SOCKET.
class NotifySocket {
 public:
  explicit NotifySocket(std::filesystem::path path)
      : path_(std::move(path)), fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("binding " + path_.string());
    }
  }
  ~NotifySocket() { ::close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  std::string path() const { return path_; }

  /// The next message that holds this assignment; those before it are skipped.
  std::string await(std::string_view assignment) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd wait{fd_, POLLIN, 0};
      if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) != 1) {
        throw std::runtime_error("systemd waited in vain for " + std::string(assignment));
      }
      std::array<char, 4096> buffer{};
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      std::string message(buffer.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
      if (message.find(assignment) != std::string::npos) {
        return message;
      }
    }
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

class Service : public testing::Test {
 protected:
  Environment environment() const { return {{"NOTIFY_SOCKET", socket_.path()}, {"WATCHDOG_USEC", "1000000"}}; }

  void expect_a_life(Process& daemon) {
    const std::string ready = socket_.await("READY=1");
    EXPECT_NE(ready.find("STATUS="), std::string::npos) << ready;
    socket_.await("WATCHDOG=1");
    socket_.await("WATCHDOG=1");
    daemon.signal(SIGHUP);
    const std::string reloading = socket_.await("RELOADING=1");
    EXPECT_NE(reloading.find("MONOTONIC_USEC="), std::string::npos) << reloading;
    socket_.await("READY=1");
    daemon.signal(SIGTERM);
    socket_.await("STOPPING=1");
    EXPECT_EQ(daemon.wait(), 0) << daemon.err();
  }

  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
  NotifySocket socket_{stack_.directory() / "notify"};
};

TEST_F(Service, AggregatorTellsSystemdHowItStands) {
  stack_.start_aggregator(environment());
  expect_a_life(stack_.aggregator());
}

TEST_F(Service, AgentTellsSystemdHowItStands) {
  stack_.start_aggregator();
  Process agent = Process::start(stack_.agent_command(Stack::kNode, tree_), environment());
  expect_a_life(agent);
}

TEST_F(Service, AgentIsReadyWithoutItsAggregator) {
  // Nobody listens on a discard port: the agent must come up, and stop, all the same.
  stack_.start_aggregator();
  std::vector<std::string> command = stack_.agent_command(Stack::kNode, tree_);
  stack_.kill_aggregator();
  Process agent = Process::start(command, environment());
  expect_a_life(agent);
}

TEST_F(Service, BothStopOnTheSignalOfATerminal) {
  stack_.start_aggregator();
  Process agent = stack_.start_agent(Stack::kNode, tree_);
  stack_.await_state("ok");
  stack_.aggregator().signal(SIGINT);
  EXPECT_EQ(stack_.aggregator().wait(), 0) << stack_.aggregator().err();
  agent.signal(SIGINT);
  EXPECT_EQ(agent.wait(), 0) << agent.err();
}

TEST_F(Service, AnAgentComesBackToARestartedAggregator) {
  stack_.start_aggregator();
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  stack_.await_state("ok");
  stack_.kill_aggregator();
  stack_.start_aggregator();
  const auto mark = stack_.node().at("last_heard").get<std::string>();
  eventually("the agent is heard again", [&] { return stack_.node().at("last_heard") != mark; });
}

TEST_F(Service, ASecondAggregatorOnTheSameHistoryIsRefused) {
  stack_.start_aggregator();
  const auto config = stack_.directory() / "second.yaml";
  std::string text = read_file(stack_.config_file());
  for (std::size_t at = 0; (at = text.find("listen: 127.0.0.1:", at)) != std::string::npos; ++at) {
    const std::size_t port = at + std::string_view("listen: 127.0.0.1:").size();
    text.replace(port, text.find('\n', port) - port, "0");
  }
  write_file(config, text);
  Process second = Process::start({program("gpuskew-aggregator"), "--config", config});
  EXPECT_NE(second.wait(), 0);
  EXPECT_NE(second.err().find("history.db"), std::string::npos) << second.err();
}

TEST_F(Service, LiveAndReadyAreAnswered) {
  stack_.start_aggregator();
  EXPECT_EQ(stack_.get("/healthz").substr(0, 2), "ok");
  EXPECT_EQ(stack_.get("/readyz").substr(0, 5), "ready");
}

}  // namespace
}  // namespace gpuskew
