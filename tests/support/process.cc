#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCouldNotStart = 127;
constexpr std::chrono::milliseconds kBetweenQuestions{20};

std::runtime_error system_error(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

bool steers_our_binaries(std::string_view variable) {
  static constexpr std::array<std::string_view, 4> kNames{
      "NODE_NAME=", "NOTIFY_SOCKET=", "JOURNAL_STREAM=", "NO_COLOR="};
  return variable.starts_with("GPUSKEW_") || variable.starts_with("WATCHDOG_") ||
         std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) { return variable.starts_with(name); });
}

std::vector<std::string> environment_for(const Environment& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!steers_our_binaries(variable) && !added.contains(std::string(variable.substr(0, variable.find('='))))) {
      all.emplace_back(variable);
    }
  }
  for (const auto& [name, value] : added) {
    all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw system_error("pipe2");
  }
  return {ends[0], ends[1]};
}

void close_if_open(int& fd) {
  if (fd >= 0) {
    ::close(fd);
    fd = -1;
  }
}

}  // namespace

Process Process::start(const std::vector<std::string>& command, const Environment& environment) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environment_for(environment);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(variables);
  const pid_t parent = ::getpid();
  Pipe out = make_pipe();
  Pipe err = make_pipe();

  const pid_t pid = ::fork();
  if (pid < 0) {
    throw system_error("fork");
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (::getppid() != parent || ::dup2(nothing, 0) < 0 || ::dup2(out.write_end, 1) < 0 ||
        ::dup2(err.write_end, 2) < 0) {
      ::_exit(kCouldNotStart);
    }
    ::execvpe(argv.front(), argv.data(), envp.data());
    ::_exit(kCouldNotStart);
  }

  ::close(out.write_end);
  ::close(err.write_end);
  ::fcntl(out.read_end, F_SETFL, O_NONBLOCK);
  ::fcntl(err.read_end, F_SETFL, O_NONBLOCK);
  Process process;
  process.name_ = command.front();
  process.pid_ = pid;
  process.streams_[0].fd = out.read_end;
  process.streams_[1].fd = err.read_end;
  process.pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process.pidfd_ < 0) {
    throw system_error("pidfd_open");
  }
  return process;
}

Process::Process(Process&& other) noexcept {
  *this = std::move(other);
}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    release();
    name_ = std::move(other.name_);
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::exchange(other.pidfd_, -1);
    exit_code_ = other.exit_code_;
    for (std::size_t i = 0; i < std::size(streams_); ++i) {
      streams_[i] = std::move(other.streams_[i]);
      other.streams_[i].fd = -1;
    }
    lines_ = std::move(other.lines_);
  }
  return *this;
}

Process::~Process() {
  release();
}

void Process::release() {
  if (pid_ > 0 && exit_code_ < 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  close_if_open(pidfd_);
  for (Stream& stream : streams_) {
    close_if_open(stream.fd);
  }
}

void Process::give_up(const std::string& what) const {
  throw std::runtime_error(name_ + ": " + what + "\n--- standard output\n" + out() + "--- standard error\n" + err());
}

void Process::read_from(Stream& stream) {
  std::array<char, 65536> buffer{};
  while (stream.fd >= 0) {
    const ssize_t got = ::read(stream.fd, buffer.data(), buffer.size());
    if (got < 0) {
      return;
    }
    if (got == 0) {
      close_if_open(stream.fd);
      return;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    stream.text += bytes;
    stream.partial += bytes;
    for (std::size_t end = 0; (end = stream.partial.find('\n')) != std::string::npos;) {
      lines_.push_back(stream.partial.substr(0, end));
      stream.partial.erase(0, end + 1);
    }
    if (stream.text.size() > kMaxOutput) {
      give_up("printed more than " + std::to_string(kMaxOutput) + " bytes");
    }
  }
}

// Waits for output or the end of the child, at most `limit`; takes what there is.
void Process::pump(std::chrono::milliseconds limit) {
  std::array<pollfd, 3> waits{};
  waits[0] = {streams_[0].fd, POLLIN, 0};
  waits[1] = {streams_[1].fd, POLLIN, 0};
  waits[2] = {exit_code_ < 0 ? pidfd_ : -1, POLLIN, 0};
  ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, limit.count())));
  read_from(streams_[0]);
  read_from(streams_[1]);
  int status = 0;
  if (exit_code_ < 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    // What it wrote before it ended is in the pipes by now.
    read_from(streams_[0]);
    read_from(streams_[1]);
  }
}

std::string Process::wait_for_line(std::string_view part, std::size_t from, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (std::size_t next = from;;) {
    for (; next < lines_.size(); ++next) {
      if (lines_[next].find(part) != std::string::npos) {
        return lines_[next];
      }
    }
    if (exit_code_ >= 0) {
      give_up("ended with " + std::to_string(exit_code_) + " before it said: " + std::string(part));
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      give_up("did not say in time: " + std::string(part));
    }
    pump(left);
  }
}

std::size_t Process::mark() {
  pump(std::chrono::milliseconds(0));
  return lines_.size();
}

void Process::signal(int number) const {
  if (exit_code_ >= 0 || ::kill(pid_, number) != 0) {
    give_up("is not there to take signal " + std::to_string(number));
  }
}

int Process::wait(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (exit_code_ < 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      give_up("did not end in time");
    }
    pump(left);
  }
  return exit_code_;
}

bool Process::is_running() {
  pump(std::chrono::milliseconds(0));
  return exit_code_ < 0;
}

Outcome run(const std::vector<std::string>& command, const Environment& environment, std::chrono::milliseconds limit) {
  Process process = Process::start(command, environment);
  const int code = process.wait(limit);
  return {code, process.out(), process.err()};
}

void eventually(std::string_view what, const std::function<bool()>& holds, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!holds()) {
    if (Clock::now() >= deadline) {
      throw std::runtime_error("waited in vain until " + std::string(what));
    }
    std::this_thread::sleep_for(kBetweenQuestions);
  }
}

std::string field_of(std::string_view line, std::string_view key) {
  const std::string wanted = " " + std::string(key) + "=";
  const std::size_t at = line.find(wanted);
  if (at == std::string_view::npos) {
    return "";
  }
  const std::string_view value = line.substr(at + wanted.size());
  if (value.starts_with('"')) {
    return std::string(value.substr(1, value.find('"', 1) - 1));
  }
  return std::string(value.substr(0, value.find(' ')));
}

}  // namespace gpuskew
