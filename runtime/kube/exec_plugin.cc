#include "runtime/kube/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/file.h"
#include "runtime/kube/errors.h"

extern char** environ;

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

/// The read end and the write end of a pipe, closed when it goes.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      ends_ = {-1, -1};
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) {
      ::close(std::exchange(ends_[end], -1));
    }
  }
  std::array<int, 2> ends_{-1, -1};
};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::vector<std::string> environment_of(const ExecPlugin& plugin, std::string info) {
  std::vector<std::string> added;
  for (const auto& [name, value] : plugin.environment) {
    added.push_back(name + "=" + value);
  }
  added.push_back("KUBERNETES_EXEC_INFO=" + std::move(info));
  std::vector<std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const bool replaced = std::any_of(added.begin(), added.end(), [variable](const std::string& text) {
      return name_of(text) == name_of(*variable);
    });
    if (!replaced) {
      all.emplace_back(*variable);
    }
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

/// As the plugin's own environment may set another PATH, it is looked through here: in ours, as kubectl does.
std::vector<std::string> candidates_of(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    return {command};
  }
  std::vector<std::string> candidates;
  const char* const path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    if (left.starts_with('/')) {  // "" and "." are whatever directory we happen to be in
      candidates.push_back(std::string(left.substr(0, end)) + "/" + command);
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return candidates;
}

Result<std::string> program_of(const ExecPlugin& plugin) {
  for (const std::string& candidate : candidates_of(plugin.command)) {
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  const std::string hint = shown_text(plugin.install_hint);
  return fail(ErrorCode::NotFound,
              "no such program" + (hint.empty() ? "; install it, or put it in PATH" : "; " + hint));
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(const char* program, char* const* argv, char* const* envp, int out, int err, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::getppid() == parent && nothing >= 0 && ::dup2(nothing, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2) {
    ::execve(program, argv, envp);
  }
  ::_exit(127);
}

/// A child in a process group of its own; killed and reaped when it goes.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid), ended_fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~Child() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);  // before it had its group
      static_cast<void>(wait_for_end());
    }
    if (ended_fd_ >= 0) {
      ::close(ended_fd_);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Readable once it has ended (pidfd_open(2), Linux 5.3).
  int ended_fd() const { return ended_fd_; }
  int wait_for_end() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
  int ended_fd_;
};

struct Said {
  std::string out;
  std::string err;
};

/// Reads what is there; false at the pipe's end.
bool read_some(int fd, std::string& into) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    into.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Until the child has ended and standard output, too: what a grandchild keeps open is waited for within the same time.
Result<Said> read_until_end(Pipe& out, Pipe& err, int ended_fd, Duration timeout) {
  Said said;
  const auto end = Clock::now() + timeout;
  bool has_ended = false;
  while (out.reader() >= 0 || !has_ended) {
    const auto left = std::chrono::ceil<Duration>(end - Clock::now());
    if (left <= Duration::zero()) {
      return fail(ErrorCode::Timeout,
                  "it did not end within " + to_short_text(timeout) + "; run it by hand: it may wait for a login");
    }
    std::array<pollfd, 3> waits{pollfd{out.reader(), POLLIN, 0}, pollfd{err.reader(), POLLIN, 0},
                                pollfd{has_ended ? -1 : ended_fd, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return tl::unexpected(errno_error("waiting for it", errno));
    }
    has_ended = has_ended || waits[2].revents != 0;
    if (waits[1].revents != 0 && !read_some(err.reader(), said.err)) {
      err.close_reader();
    }
    if (waits[0].revents != 0 && !read_some(out.reader(), said.out)) {
      out.close_reader();
    }
    if (said.out.size() > kMaxExecCredentialBytes) {
      return fail(ErrorCode::TooLarge, "it printed more than " + std::to_string(kMaxExecCredentialBytes) + " bytes");
    }
    if (said.err.size() > 2 * kMaxExecComplaintBytes) {
      said.err.erase(0, said.err.size() - kMaxExecComplaintBytes);
    }
  }
  return said;
}

Error failure_of(int status, std::string complaint) {
  complaint = shown_text(complaint.size() > kMaxExecComplaintBytes
                             ? std::string_view(complaint).substr(complaint.size() - kMaxExecComplaintBytes)
                             : complaint);
  const std::string how = WIFEXITED(status) ? "it failed with exit code " + std::to_string(WEXITSTATUS(status))
                                            : "it was ended by signal " + std::to_string(WTERMSIG(status));
  return Error{ErrorCode::Denied, how + (complaint.empty() ? "" : ": " + complaint)};
}

}  // namespace

Result<ExecCredential> run_exec_plugin(const KubeAccess& access, Duration timeout) {
  const ExecPlugin& plugin = *access.exec;
  if (plugin.needs_terminal) {
    return fail(ErrorCode::Unsupported, "it wants a terminal (interactiveMode Always); log in by kubectl first");
  }
  const auto program = program_of(plugin);
  if (!program) {
    return tl::unexpected(program.error());
  }
  auto info = exec_info(access);
  if (!info) {
    return tl::unexpected(info.error());
  }
  std::vector<std::string> arguments(1, plugin.command);
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> environment = environment_of(plugin, std::move(*info));
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  Pipe out;
  Pipe err;
  if (!out.is_open() || !err.is_open()) {
    return tl::unexpected(errno_error("making a pipe", errno));
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return tl::unexpected(errno_error("starting it", errno));
  }
  if (pid == 0) {
    become(program->c_str(), argv.data(), envp.data(), out.writer(), err.writer(), parent);
  }
  Child child(pid);
  if (child.ended_fd() < 0) {
    return tl::unexpected(errno_error("watching it", errno));
  }
  out.close_writer();
  err.close_writer();
  auto said = read_until_end(out, err, child.ended_fd(), timeout);
  if (!said) {
    return tl::unexpected(said.error());
  }
  const int status = child.wait_for_end();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return tl::unexpected(failure_of(status, std::move(said->err)));
  }
  return parse_exec_credential(said->out, plugin.api_version);
}

}  // namespace gpuskew
