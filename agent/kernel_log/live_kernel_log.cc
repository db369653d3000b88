#include "agent/kernel_log/live_kernel_log.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <asio/experimental/as_tuple.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "agent/host_root.h"
#include "agent/kernel_log/journal_files.h"
#include "agent/kernel_log/kernel_entry_count.h"
#include "agent/kernel_log/kernel_log_reader.h"
#include "agent/paths.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

using asio::posix::stream_descriptor;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

// journald writes through a mapping, which inotify does not see, and truncates the file to its size to be seen.
constexpr std::uint32_t kJournalMask = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;
constexpr std::size_t kInotifyBuffer = 4096;
constexpr int kMaxReadsATurn = 64;
// A journal that comes only after the agent (persistent storage that is mounted late).
constexpr Duration kLookForJournalGap = std::chrono::minutes(1);

void drain(int inotify) {
  std::array<char, kInotifyBuffer> buffer{};
  for (int turn = 0; turn<kMaxReadsATurn&& ::read(inotify, buffer.data(), buffer.size())> 0; ++turn) {
  }
}

}  // namespace

LiveKernelLog::LiveKernelLog(asio::io_context& io, const HostRoot& root, KernelLogReader& reader,
                             std::function<Time()> clock, std::function<void()> on_news)
    : io_(io), root_(root), reader_(reader), clock_(std::move(clock)), on_news_(std::move(on_news)) {}

LiveKernelLog::~LiveKernelLog() {
  if (inotify_ >= 0) {
    ::close(inotify_);
  }
}

void LiveKernelLog::prepare() {
  if (!reader_.kmsg_descriptor()) {
    watch_journal();
  }
}

Duration LookPace::after_look(Clock::time_point now) {
  const auto earned = counted_ == Clock::time_point{} ? 0 : (now - counted_) / kLongGap;
  if (earned > 0 || counted_ == Clock::time_point{}) {
    saved_ = static_cast<int>(std::min<std::int64_t>(kBurst, saved_ + earned));
    counted_ = now;
  }
  if (saved_ == 0) {
    return kLongGap;
  }
  --saved_;
  return kGap;
}

// Registered for this wait only: a registered descriptor wakes the process for every line, waited for or not. A
// duplicate, because the reader may close its own meanwhile.
asio::awaitable<bool> LiveKernelLog::readable(int descriptor) {
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    co_return false;
  }
  stream_descriptor waiter(io_, own);
  const auto [error] = co_await waiter.async_wait(stream_descriptor::wait_read, kAsTuple);
  co_return !error;
}

asio::awaitable<void> LiveKernelLog::pause(Duration span) {
  asio::steady_timer timer(io_, span);
  co_await timer.async_wait(kAsTuple);
}

void LiveKernelLog::look() {
  if (reader_.follow(clock_())) {
    on_news_();
  }
}

asio::awaitable<Result<void>> LiveKernelLog::run() {
  for (;;) {
    co_await follow_kmsg();
    co_await follow_journal();
    co_await pause(kLookForJournalGap);
  }
}

asio::awaitable<void> LiveKernelLog::follow_kmsg() {
  LookPace pace;
  while (const auto device = reader_.kmsg_descriptor()) {
    const bool is_readable = co_await readable(*device);
    if (!is_readable) {
      co_return;
    }
    look();
    co_await pause(pace.after_look(LookPace::Clock::now()));
  }
}

bool LiveKernelLog::watch_journal() {
  if (inotify_ >= 0) {
    ::close(inotify_);
  }
  inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ < 0) {
    journal_problem_ = errno_error("inotify", errno).what;
    return false;
  }
  journal_problem_ = "no journal files";
  bool is_watched = false;
  directories_ = journal_directories(root_);
  for (const std::string& name : directories_) {
    const auto directory = root_.open_path(name);
    const int watch = directory ? ::inotify_add_watch(inotify_, directory->watch_path().c_str(), kJournalMask) : -1;
    if (watch >= 0) {
      is_watched = true;
    } else {
      journal_problem_ = directory ? errno_error(name, errno).what : directory.error().what;
    }
  }
  is_journal_watched_ = is_watched;
  reader_.set_journal_watched(is_watched);
  return is_watched;
}

bool LiveKernelLog::has_kernel_entries() {
  std::vector<std::optional<std::uint64_t>> counts;
  bool is_certain = true;
  for (const std::string& name : directories_) {
    const auto file = root_.open_file(name + "/system.journal");
    counts.push_back(file ? kernel_entry_count(*file) : std::nullopt);
    is_certain = is_certain && (counts.back() || !file);
  }
  const bool is_same = std::exchange(counts_, counts) == counts;
  return !is_certain || !is_same;
}

asio::awaitable<void> LiveKernelLog::follow_journal() {
  const bool is_watched = inotify_ >= 0 && is_journal_watched_;
  if (!is_watched && !watch_journal()) {
    co_return;
  }
  LookPace pace;
  // What came before the files were watched, and what is counted from here on.
  static_cast<void>(has_kernel_entries());
  reader_.journal_changed();
  look();
  for (;;) {
    const bool is_readable = co_await readable(inotify_);
    if (!is_readable) {
      break;
    }
    drain(inotify_);
    if (has_kernel_entries()) {
      reader_.journal_changed();
      const Duration wait = reader_.until_journal_read(clock_());
      co_await pause(wait);
      look();
    }
    co_await pause(pace.after_look(LookPace::Clock::now()));
  }
  is_journal_watched_ = false;
  reader_.set_journal_watched(false);
}

std::string LiveKernelLog::sources() const {
  if (reader_.kmsg_descriptor()) {
    return "at once from " + std::string(kKmsg);
  }
  return is_journal_watched_ ? "at once from the journal's files" : "with the poll only (" + journal_problem_ + ")";
}

}  // namespace gpuskew
