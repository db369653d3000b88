#pragma once

// What a crowd of agents does for a while, and how it went.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>

#include "tests/bench/load_agent.h"

namespace gpuskew {

/// Reasons for failures that are told apart; the rest is counted as "other".
inline constexpr std::size_t kMaxFailureKinds = 8;
/// Latencies kept for the percentiles of one phase; later ones replace earlier ones at random.
inline constexpr std::size_t kMaxLatencies = 100'000;

/// Takes what happened in a phase.
class Outcomes {
 public:
  void note(const Result<void>& result, std::chrono::nanoseconds took);
  std::size_t done() const { return done_; }
  std::size_t failed() const { return failed_; }
  /// "10000 done, 0 failed in 21.3 s: 470 a second; p50 12.1 ms, p99 80.4 ms" and a line for each kind of failure.
  std::string text(std::string_view name, std::chrono::nanoseconds span) const;

 private:
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  std::map<std::string, std::size_t, std::less<>> failures_;
  std::vector<float> milliseconds_;
  std::uint64_t random_ = 1;
};

/// All agents of one run, on the io_context of the caller.
class Crowd {
 public:
  /// `target` must outlive the object. `parallel`: how many agents act at the same time, but for the storm.
  Crowd(std::size_t agents, std::size_t parallel, const LoadTarget& target);

  /// Each ends by itself: connect when every agent was tried once, the others when `span` is over. They return the
  /// number of failures.
  asio::awaitable<std::size_t> connect();
  /// As healthy agents: a heartbeat each 30 s.
  asio::awaitable<std::size_t> idle(std::chrono::seconds span);
  /// As fast as the answers come.
  asio::awaitable<std::size_t> heartbeats(std::chrono::seconds span);
  asio::awaitable<std::size_t> reports(Report what, std::chrono::seconds span);
  /// All are cut off and come back at once, each again and again with backoff until it is acknowledged.
  asio::awaitable<std::size_t> reconnect_storm(std::chrono::seconds span);

  std::size_t connected() const;

 private:
  using Action = std::function<asio::awaitable<Result<void>>(LoadAgent& agent)>;
  struct Phase;

  asio::awaitable<std::size_t> run(std::string name, Action action, Deadline until, bool once);
  asio::awaitable<void> work(Phase& phase);
  asio::awaitable<void> come_back(Phase& phase, std::size_t index);
  /// Ends when `workers` calls of `start(n)`'s coroutine have ended.
  asio::awaitable<void> all(std::size_t workers, std::function<asio::awaitable<void>(std::size_t)> start);

  std::size_t parallel_;
  LoadScratch scratch_;
  std::vector<LoadAgent> agents_;
  std::vector<bool> busy_;
};

}  // namespace gpuskew
