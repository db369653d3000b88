#include "agent/probes/module_identity.h"

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

namespace gpuskew {
namespace {

constexpr rlim_t kChildCpuSeconds = 10;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve terabytes
constexpr rlim_t kChildAddressSpace = 512u << 20;
#endif
// The child's answer: for each part one byte, 'v' or an error code's number as a letter from 'A', the text, and a NUL.
constexpr std::size_t kMaxAnswer = 1024;
constexpr std::size_t kMaxAnswerText = 300;
constexpr char kValueAnswer = 'v';
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

template <class Value, class Text>
std::string part_answer(const Result<Value>& part, const Text& text) {
  std::string answer;
  if (part) {
    answer = kValueAnswer + std::string(text(*part));
  } else {
    answer = static_cast<char>(kFirstErrorAnswer + static_cast<char>(part.error().code)) +
             part.error().what.substr(0, kMaxAnswerText);
  }
  return answer + '\0';
}

[[noreturn]] void answer_from_child(int module, int answer_pipe, Compression kind) {
  limit_child();
  ModinfoScanner scanner;
  const auto unpacked = decompress(module, kind, [&scanner](std::string_view block) { scanner.feed(block); });
  const ModuleIdentity identity = unpacked ? scanner.finish() : ModuleIdentity::unknown(unpacked.error());
  const auto text = [](const auto& value) { return value.text(); };
  const auto name = [](ModuleFlavour flavour) { return to_string(flavour); };
  const std::string answer =
      part_answer(identity.version, text) + part_answer(identity.built_for, text) + part_answer(identity.flavour, name);
  const ssize_t written = ::write(answer_pipe, answer.data(), std::min(answer.size(), kMaxAnswer));
  ::_exit(written > 0 ? 0 : 1);
}

Result<ModuleFlavour> flavour_from(std::string_view name) {
  for (const ModuleFlavour flavour : {ModuleFlavour::Proprietary, ModuleFlavour::Open}) {
    if (to_string(flavour) == name) {
      return flavour;
    }
  }
  return fail(ErrorCode::Internal, "the unpacking process gave no sensible answer");
}

// Takes one part off the answer.
template <class Parse>
auto take_part(std::string_view& answer, const Parse& parse) -> decltype(parse(std::string_view())) {
  const std::size_t end = answer.find('\0');
  if (answer.empty() || end == 0 || end == std::string_view::npos) {
    answer = {};
    return fail(ErrorCode::Internal, "the unpacking process ended without an answer");
  }
  const char kind = answer.front();
  const std::string_view text = answer.substr(1, end - 1);
  answer.remove_prefix(end + 1);
  if (kind == kValueAnswer) {
    return parse(text);
  }
  const int code = kind - kFirstErrorAnswer;
  if (code < 0 || code > static_cast<int>(ErrorCode::Internal)) {
    return fail(ErrorCode::Internal, "the unpacking process gave no sensible answer");
  }
  return fail(static_cast<ErrorCode>(code), std::string(text));
}

ModuleIdentity parse_answer(std::string_view answer) {
  auto version = take_part(answer, DriverVersion::parse);
  auto built_for = take_part(answer, KernelRelease::parse);
  auto flavour = take_part(answer, flavour_from);
  return ModuleIdentity{std::move(version), std::move(built_for), std::move(flavour)};
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

ModuleIdentity identity_in_compressed(const HostFile& module, Compression kind) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return ModuleIdentity::unknown({ErrorCode::Internal, "making a pipe: " + std::generic_category().message(errno)});
  }
  HostFile answer_end(ends[0], "pipe");
  HostFile child_end(ends[1], "pipe");
  const pid_t child = ::fork();
  if (child < 0) {
    return ModuleIdentity::unknown(
        {ErrorCode::Internal, "starting a process: " + std::generic_category().message(errno)});
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
  return answer ? parse_answer(*answer) : ModuleIdentity::unknown(answer.error());
}

}  // namespace

ModuleIdentity read_module_identity(const HostFile& module) {
  constexpr std::size_t kMagic = 6;
  const auto first = module.read_at(0, kMagic);
  if (!first) {
    return ModuleIdentity::unknown(first.error());
  }
  if (const auto kind = compression_of(*first)) {
    return identity_in_compressed(module, *kind);
  }
  const auto modinfo =
      find_modinfo([&module](std::uint64_t offset, std::size_t size) { return module.read_at(offset, size); });
  return modinfo ? module_identity(*modinfo) : ModuleIdentity::unknown(modinfo.error());
}

}  // namespace gpuskew
