#include "agent/limited_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "agent/host_file.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

void limit_child(const ChildLimits& limits) {
  // The daemon's own handlers write to a pipe it shares with this child.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::signal(signal, SIG_DFL);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit cpu{limits.cpu_seconds, limits.cpu_seconds};
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve terabytes
  const rlimit space{limits.address_space, limits.address_space};
  ::setrlimit(RLIMIT_AS, &space);
#endif
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Until the child closes its end.
Result<void> read_answer(int descriptor, const ChildLimits& limits, const std::function<void(std::string_view)>& take) {
  const auto deadline = Clock::now() + limits.wall;
  std::array<char, 16u << 10> block{};
  std::size_t total = 0;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{descriptor, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready == 0) {
      return fail(ErrorCode::Timeout, "it took longer than " + std::to_string(limits.wall.count()) + " s");
    }
    const ssize_t got = ready < 0 ? -1 : ::read(descriptor, block.data(), block.size());
    if (got < 0) {
      return tl::unexpected(errno_error("waiting for its process", errno));
    }
    if (got == 0) {
      return {};
    }
    total += static_cast<std::size_t>(got);
    if (total > limits.answer) {
      return fail(ErrorCode::TooLarge, "it found more than " + std::to_string(limits.answer) + " bytes");
    }
    take({block.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace

Result<void> run_limited_child(std::string_view name, const ChildLimits& limits,
                               const std::function<void(const ChildAnswer&)>& work,
                               const std::function<void(std::string_view)>& take) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(errno_error(std::string(name) + ": making a pipe", errno));
  }
  const HostFile answer_end(ends[0], "pipe");
  HostFile child_end(ends[1], "pipe");
  const pid_t child = ::fork();
  if (child < 0) {
    return tl::unexpected(errno_error(std::string(name) + ": starting a process", errno));
  }
  if (child == 0) {
    limit_child(limits);
    work([fd = child_end.descriptor()](std::string_view bytes) { return write_all(fd, bytes); });
    ::_exit(0);
  }
  { const HostFile closed = std::move(child_end); }
  auto answer = read_answer(answer_end.descriptor(), limits, take);
  if (!answer) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answer) {
    return fail(name, answer.error());
  }
  if (WIFSIGNALED(status)) {
    return fail(ErrorCode::Internal,
                std::string(name) + ": its process was ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::Internal, std::string(name) + ": its process failed");
  }
  return {};
}

}  // namespace gpuskew
