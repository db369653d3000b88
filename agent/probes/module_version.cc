#include "agent/probes/module_version.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/probes/decompress.h"
#include "agent/probes/modinfo.h"

namespace gpuskew {
namespace {

constexpr rlim_t kChildCpuSeconds = 10;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve terabytes
constexpr rlim_t kChildAddressSpace = 512u << 20;
#endif
// The child's answer: one byte, 'v' and the version or an error code's number as a letter from 'A' and its text.
constexpr std::size_t kMaxAnswer = 512;
constexpr char kVersionAnswer = 'v';
constexpr char kFirstErrorAnswer = 'A';

void limit_child() {
  // The daemon's own handlers write to a pipe it shares with this child.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::signal(signal, SIG_DFL);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit cpu{kChildCpuSeconds, kChildCpuSeconds};
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit space{kChildAddressSpace, kChildAddressSpace};
  ::setrlimit(RLIMIT_AS, &space);
#endif
}

[[noreturn]] void answer_from_child(int module, int answer_pipe, Compression kind) {
  limit_child();
  ModinfoScanner scanner;
  const auto unpacked = decompress(module, kind, [&scanner](std::string_view block) { scanner.feed(block); });
  const Result<DriverVersion> version = unpacked ? scanner.finish() : tl::unexpected(unpacked.error());
  std::string answer;
  if (version) {
    answer = kVersionAnswer + version->text();
  } else {
    answer = static_cast<char>(kFirstErrorAnswer + static_cast<char>(version.error().code)) + version.error().what;
  }
  const ssize_t written = ::write(answer_pipe, answer.data(), std::min(answer.size(), kMaxAnswer));
  ::_exit(written > 0 ? 0 : 1);
}

Result<DriverVersion> parse_answer(std::string_view answer) {
  if (answer.empty()) {
    return fail(ErrorCode::Internal, "the unpacking process ended without an answer");
  }
  const std::string_view text = answer.substr(1);
  if (answer.front() == kVersionAnswer) {
    return DriverVersion::parse(text);
  }
  const int code = answer.front() - kFirstErrorAnswer;
  if (code < 0 || code > static_cast<int>(ErrorCode::Internal)) {
    return fail(ErrorCode::Internal, "the unpacking process gave no sensible answer");
  }
  return fail(static_cast<ErrorCode>(code), std::string(text));
}

// Until the child closes its end. Timeout past the deadline.
Result<std::string> read_answer(const HostFile& pipe) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + kDecompressDeadline;
  std::string answer;
  std::array<char, kMaxAnswer> block{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{pipe.descriptor(), POLLIN, 0};
    const int ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready == 0) {
      return fail(ErrorCode::Timeout,
                  "unpacking took longer than " + std::to_string(kDecompressDeadline.count()) + " s");
    }
    const ssize_t got = ready < 0 ? -1 : ::read(pipe.descriptor(), block.data(), block.size());
    if (got < 0) {
      return fail(ErrorCode::Internal, "waiting for the unpacking process: " + std::generic_category().message(errno));
    }
    if (got == 0 || answer.size() > kMaxAnswer) {
      return answer;
    }
    answer.append(block.data(), static_cast<std::size_t>(got));
  }
}

Result<DriverVersion> version_in_compressed(const HostFile& module, Compression kind) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::Internal, "making a pipe: " + std::generic_category().message(errno));
  }
  HostFile answer_end(ends[0], "pipe");
  HostFile child_end(ends[1], "pipe");
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorCode::Internal, "starting a process: " + std::generic_category().message(errno));
  }
  if (child == 0) {
    answer_from_child(module.descriptor(), child_end.descriptor(), kind);
  }
  { const HostFile closed = std::move(child_end); }
  const auto answer = read_answer(answer_end);
  if (!answer) {
    ::kill(child, SIGKILL);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer ? parse_answer(*answer) : tl::unexpected(answer.error());
}

Result<DriverVersion> version_in(const HostFile& module) {
  constexpr std::size_t kMagic = 6;
  auto first = module.read_at(0, kMagic);
  if (!first) {
    return tl::unexpected(first.error());
  }
  if (const auto kind = compression_of(*first)) {
    return version_in_compressed(module, *kind);
  }
  const auto modinfo =
      find_modinfo([&module](std::uint64_t offset, std::size_t size) { return module.read_at(offset, size); });
  if (!modinfo) {
    return tl::unexpected(modinfo.error());
  }
  const auto version = modinfo_value(*modinfo, "version");
  if (!version) {
    return fail(ErrorCode::Malformed, "no version entry");
  }
  return DriverVersion::parse(*version);
}

}  // namespace

Result<DriverVersion> read_module_version(const HostRoot& root, const std::string& path) {
  auto module = root.open_file(path);
  if (!module) {
    return tl::unexpected(module.error());
  }
  auto version = version_in(*module);
  return version ? version : fail("reading " + module->name(), version.error());
}

Result<DriverVersion> ModuleVersionCache::read(const HostRoot& root, const std::string& path) {
  const auto status = root.status(path);
  if (!status) {
    return tl::unexpected(status.error());
  }
  const auto known = entries_.find(path);
  const bool same = known != entries_.end() && known->second.status == *status;
  if (same && (known->second.version || known->second.attempts >= kMaxAttempts)) {
    return known->second.version;
  }
  const int attempts = same ? known->second.attempts + 1 : 1;
  if (!same && entries_.size() >= kMaxFiles) {
    entries_.clear();
  }
  Entry entry{*status, read_module_version(root, path), attempts};
  return entries_.insert_or_assign(path, std::move(entry)).first->second.version;
}

}  // namespace gpuskew
