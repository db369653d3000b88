#include "runtime/systemd.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/log.h"
#include "tests/unit/runtime/notify_socket.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

class ServiceManagerTest : public testing::Test {
 protected:
  void TearDown() override {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
  }
  static ServiceManager manager() {
    auto made = ServiceManager::from_environment();
    EXPECT_TRUE(made) << made.error().what;
    return made.value_or(ServiceManager());
  }
};

TEST_F(ServiceManagerTest, DoesNothingWithoutANotifySocket) {
  ::unsetenv("NOTIFY_SOCKET");
  const ServiceManager quiet = manager();
  EXPECT_FALSE(quiet.is_active());
  EXPECT_FALSE(quiet.watchdog_interval());
  EXPECT_TRUE(quiet.ready("x"));
  EXPECT_TRUE(quiet.keep_alive());
}

TEST_F(ServiceManagerTest, SendsReadyStatusStoppingAndKeepAlive) {
  const NotifySocket socket;
  const ServiceManager told = manager();
  EXPECT_TRUE(told.is_active());
  ASSERT_TRUE(told.ready("listening\nfor agents"));
  EXPECT_EQ(socket.receive(), "READY=1\nSTATUS=listening for agents");
  ASSERT_TRUE(told.ready());
  EXPECT_EQ(socket.receive(), "READY=1");
  ASSERT_TRUE(told.status("17 agents\nREADY=1"));
  EXPECT_EQ(socket.receive(), "STATUS=17 agents READY=1");
  ASSERT_TRUE(told.stopping());
  EXPECT_EQ(socket.receive(), "STOPPING=1");
  ASSERT_TRUE(told.keep_alive());
  EXPECT_EQ(socket.receive(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, SendsTheMonotonicTimeOfAReload) {
  const NotifySocket socket;
  ASSERT_TRUE(manager().reloading());
  const std::string sent = socket.receive();
  const std::string prefix = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_EQ(sent.substr(0, prefix.size()), prefix);
  EXPECT_GT(std::stoll(sent.substr(prefix.size())), 0);
}

TEST_F(ServiceManagerTest, ReportsASocketThatIsNotThere) {
  ::setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  const auto told = manager().ready();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().what, "telling systemd: no such file or directory");
}

TEST_F(ServiceManagerTest, KnowsTheWatchdogOfThisProcessOnly) {
  const NotifySocket socket;
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(manager().watchdog_interval(), std::chrono::seconds(30));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(manager().watchdog_interval(), std::nullopt);
  ::setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_FALSE(ServiceManager::from_environment());
}

/// Runs in a child with a /run of its own: the journal's socket has a fixed path. Exit status 0: everything as
/// expected; other numbers say where it went wrong.
int log_to_a_private_journal(const std::filesystem::path& received_file) {
  const bool is_root = ::geteuid() == 0;
  if (::unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0) {
    return 2;
  }
  std::filesystem::create_directories("/run/systemd/journal");
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string("/run/systemd/journal/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return 3;
  }
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) {
    return 4;
  }
  struct stat status {};
  ::fstat(STDERR_FILENO, &status);
  const std::string stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  ::setenv("JOURNAL_STREAM", stream.c_str(), 1);

  Log::from_environment().warning("refused agent", {{"peer", "192.0.2.7:1"}, {"reason", "two\nlines"}});

  std::string datagram(65536, '\0');
  const ssize_t length = ::recv(socket, datagram.data(), datagram.size(), MSG_DONTWAIT);
  datagram.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  std::ofstream(received_file, std::ios::binary) << datagram;
  return length > 0 ? 0 : 5;
}

TEST(Journal, ReceivesMessagePriorityAndFieldsFromTheRealLibrary) {
  const TemporaryDirectory directory;
  const auto received_file = directory.path() / "received";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::_exit(log_to_a_private_journal(received_file));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0) << "2: no mount namespace allowed; 3: no socket; 4: no pipe; 5: nothing received";
  std::ifstream file(received_file, std::ios::binary);
  const std::string received{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(received.find("MESSAGE=refused agent\n"), std::string::npos) << received;
  EXPECT_NE(received.find("PRIORITY=4\n"), std::string::npos) << received;
  EXPECT_NE(received.find("GPUSKEW_PEER=192.0.2.7:1\n"), std::string::npos) << received;
  // The journal's native protocol: a value with a line end follows its 64-bit length.
  EXPECT_NE(received.find(std::string("GPUSKEW_REASON\n\x09\0\0\0\0\0\0\0two\nlines\n", 33)), std::string::npos)
      << received;
}

}  // namespace
}  // namespace gpuskew
