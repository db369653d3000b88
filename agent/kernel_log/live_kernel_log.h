#pragma once

// Tells when the kernel's log says something new: by waiting on /dev/kmsg, or else by inotify on the journal's files.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/result.h"
#include "core/time.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class HostRoot;
class KernelLogReader;

/// How often to look at a source that tells of new lines: at once while it tells seldom, ever less often while it never
/// stops. A kernel that logs 50 lines a second costs 0.02% of a core (measured), most of it for reading the lines.
class LookPace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Duration kGap = std::chrono::milliseconds(100);
  static constexpr Duration kLongGap = std::chrono::seconds(2);
  /// So many looks may come at kGap; one more is saved up in each kLongGap.
  static constexpr int kBurst = 20;

  /// To be called at each look: how long to wait before the next one.
  Duration after_look(Clock::time_point now);

 private:
  int saved_ = kBurst;
  Clock::time_point counted_{};
};

class LiveKernelLog {
 public:
  /// References must outlive the object. `on_news` is called between two turns of the loop; `clock` is the wall clock.
  LiveKernelLog(asio::io_context& io, const HostRoot& root, KernelLogReader& reader, std::function<Time()> clock,
                std::function<void()> on_news);

  ~LiveKernelLog();
  LiveKernelLog(const LiveKernelLog&) = delete;
  LiveKernelLog& operator=(const LiveKernelLog&) = delete;

  /// Opens what it will wait on, after the reader's first update(), so that sources() knows.
  void prepare();

  /// After prepare(). Ends when it is cancelled only: where nothing can be waited on it just waits.
  asio::awaitable<Result<void>> run();

  /// "at once from /dev/kmsg", "at once from the journal's files", "with the poll only", and why.
  std::string sources() const;

 private:
  asio::awaitable<void> follow_kmsg();
  asio::awaitable<void> follow_journal();
  asio::awaitable<bool> readable(int descriptor);
  asio::awaitable<void> pause(Duration span);
  bool watch_journal();
  bool has_kernel_entries();
  void look();

  asio::io_context& io_;
  const HostRoot& root_;
  KernelLogReader& reader_;
  std::function<Time()> clock_;
  std::function<void()> on_news_;
  int inotify_ = -1;  ///< set by watch_journal(), taken by follow_journal()
  bool is_journal_watched_ = false;
  std::vector<std::string> directories_;
  std::vector<std::optional<std::uint64_t>> counts_;  ///< of the kernel's entries in their system.journal
  std::string journal_problem_;
};

}  // namespace gpuskew
