#pragma once

// The shipped binaries as tests run them: real processes whose end somebody sees, whatever the test does.

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuskew {

/// How long a test waits for what should take milliseconds: a loaded machine under a sanitizer still makes it.
inline constexpr std::chrono::seconds kPatience{30};

/// Set in the child beside what is inherited. Variables that steer our binaries (NODE_NAME, GPUSKEW_*, NOTIFY_SOCKET,
/// JOURNAL_STREAM, NO_COLOR) are not inherited.
using Environment = std::map<std::string, std::string>;

/// A child process; its output is read and kept. The destructor kills and reaps it, and the kernel kills it when the
/// test dies. Every wait throws std::runtime_error past its limit, with what the child said.
class Process {
 public:
  /// A child that prints more is killed by the wait that reads it.
  static constexpr std::size_t kMaxOutput = 16u << 20;

  /// `command` is a path or a name in PATH, then arguments.
  static Process start(const std::vector<std::string>& command, const Environment& environment = {});

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  /// The first whole line that contains `part`, on standard error or output, said already or said in time. `from` is a
  /// mark() taken before: only later lines count.
  std::string wait_for_line(std::string_view part, std::size_t from = 0, std::chrono::milliseconds limit = kPatience);
  /// How many lines were read so far; reads what is there to read.
  std::size_t mark();

  void signal(int number) const;
  /// The exit code, or 128 + the signal that ended it.
  int wait(std::chrono::milliseconds limit = kPatience);
  bool is_running();
  pid_t pid() const { return pid_; }

  const std::string& out() const { return streams_[0].text; }
  const std::string& err() const { return streams_[1].text; }

 private:
  struct Stream {
    int fd = -1;
    std::string text;
    std::string partial;
  };

  Process() = default;
  void pump(std::chrono::milliseconds limit);
  void read_from(Stream& stream);
  void release();
  [[noreturn]] void give_up(const std::string& what) const;

  std::string name_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int exit_code_ = -1;
  Stream streams_[2];
  std::vector<std::string> lines_;
};

/// What a command that ends by itself did.
struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& command, const Environment& environment = {},
            std::chrono::milliseconds limit = kPatience);

/// Asks until the answer is yes; throws naming `what` past its limit.
void eventually(std::string_view what, const std::function<bool()>& holds, std::chrono::milliseconds limit = kPatience);

/// The value of `key=` in a log line: up to the next blank, or what stands in its quotes. "" when it is not there.
std::string field_of(std::string_view line, std::string_view key);

}  // namespace gpuskew
