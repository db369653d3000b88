#include "tests/bench/load_phase.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "runtime/backoff.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);
/// The agent's default.
constexpr std::chrono::seconds kHeartbeatInterval{30};

double seconds(std::chrono::nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}

asio::awaitable<void> sleep_until(Deadline until) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, until);
  co_await timer.async_wait(kAsTuple);
}

float percentile(std::vector<float>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

void Outcomes::note(const Result<void>& result, std::chrono::nanoseconds took) {
  if (!result) {
    ++failed_;
    const bool is_new = !failures_.contains(result.error().what);
    ++failures_[is_new && failures_.size() >= kMaxFailureKinds ? "other" : result.error().what];
    return;
  }
  ++done_;
  const float milliseconds = std::chrono::duration<float, std::milli>(took).count();
  if (milliseconds_.size() < kMaxLatencies) {
    milliseconds_.push_back(milliseconds);
    return;
  }
  // Reservoir sampling: every latency has the same chance to be among those kept.
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  const std::uint64_t at = (random_ >> 33) % done_;
  if (at < kMaxLatencies) {
    milliseconds_[at] = milliseconds;
  }
}

std::string Outcomes::text(std::string_view name, std::chrono::nanoseconds span) const {
  std::string text = fmt::format("{}: {} done, {} failed in {:.1f} s: {:.0f} a second", name, done_, failed_,
                                 seconds(span), static_cast<double>(done_) / seconds(span));
  if (!milliseconds_.empty()) {
    std::vector<float> sorted = milliseconds_;
    std::sort(sorted.begin(), sorted.end());
    text += fmt::format("; p50 {:.1f} ms, p99 {:.1f} ms", percentile(sorted, 0.5), percentile(sorted, 0.99));
  }
  for (const auto& [why, times] : failures_) {
    text += fmt::format("\n  failed {} times: {}", times, why);
  }
  return text;
}

struct Crowd::Phase {
  Action action;
  Deadline until;
  bool once = false;
  std::size_t next = 0;
  Outcomes outcomes;
};

Crowd::Crowd(std::size_t agents, std::size_t parallel, const LoadTarget& target)
    : parallel_(parallel), busy_(agents, false) {
  agents_.reserve(agents);
  for (std::size_t index = 0; index < agents; ++index) {
    agents_.emplace_back(index, target, scratch_);
  }
}

std::size_t Crowd::connected() const {
  return static_cast<std::size_t>(
      std::count_if(agents_.begin(), agents_.end(), [](const LoadAgent& agent) { return agent.is_connected(); }));
}

asio::awaitable<std::size_t> Crowd::connect() {
  Action action = [](LoadAgent& agent) { return agent.connect(); };
  co_return co_await run("connect", std::move(action), kNoDeadline, true);
}

asio::awaitable<std::size_t> Crowd::heartbeats(std::chrono::seconds span) {
  Action action = [](LoadAgent& agent) { return agent.heartbeat(); };
  const Deadline until = Clock::now() + span;
  co_return co_await run("heartbeats", std::move(action), until, false);
}

asio::awaitable<std::size_t> Crowd::reports(Report what, std::chrono::seconds span) {
  Action action = [what](LoadAgent& agent) { return agent.report(what); };
  const Deadline until = Clock::now() + span;
  std::string name = what == Report::Same ? "unchanged" : "snapshots";
  co_return co_await run(std::move(name), std::move(action), until, false);
}

asio::awaitable<std::size_t> Crowd::idle(std::chrono::seconds span) {
  const Deadline until = Clock::now() + span;
  std::size_t failures = 0;
  for (Deadline wake = Clock::now() + kHeartbeatInterval; wake < until; wake += kHeartbeatInterval) {
    co_await sleep_until(wake);
    Action action = [](LoadAgent& agent) { return agent.heartbeat(); };
    const std::size_t failed = co_await run("idle, heartbeats", std::move(action), until, true);
    failures += failed;
  }
  co_await sleep_until(until);
  co_return failures;
}

asio::awaitable<std::size_t> Crowd::reconnect_storm(std::chrono::seconds span) {
  const Deadline started = Clock::now();
  Phase phase;
  phase.until = started + span;
  for (LoadAgent& agent : agents_) {
    agent.drop();
  }
  std::function<asio::awaitable<void>(std::size_t)> start = [this, &phase](std::size_t index) {
    return come_back(phase, index);
  };
  co_await all(agents_.size(), std::move(start));
  fmt::print("{}\n", phase.outcomes.text("reconnect-storm", Clock::now() - started));
  std::fflush(stdout);
  co_return agents_.size() - connected();
}

asio::awaitable<void> Crowd::come_back(Phase& phase, std::size_t index) {
  const Deadline started = Clock::now();
  Backoff backoff(BackoffLimits{}, std::minstd_rand(static_cast<unsigned>(index + 1)));
  while (!agents_[index].is_connected() && Clock::now() < phase.until) {
    const Result<void> done = co_await agents_[index].connect();
    phase.outcomes.note(done, Clock::now() - started);
    if (!done) {
      const Deadline again = Clock::now() + backoff.next();
      co_await sleep_until(again);
    }
  }
}

asio::awaitable<std::size_t> Crowd::run(std::string name, Action action, Deadline until, bool once) {
  const Deadline started = Clock::now();
  Phase phase;
  phase.action = std::move(action);
  phase.until = until;
  phase.once = once;
  std::function<asio::awaitable<void>(std::size_t)> start = [this, &phase](std::size_t) { return work(phase); };
  const std::size_t workers = std::min(parallel_, agents_.size());
  co_await all(workers, std::move(start));
  fmt::print("{}\n", phase.outcomes.text(name, Clock::now() - started));
  std::fflush(stdout);
  co_return phase.outcomes.failed();
}

asio::awaitable<void> Crowd::work(Phase& phase) {
  while (Clock::now() < phase.until && (!phase.once || phase.next < agents_.size())) {
    const std::size_t index = phase.next++ % agents_.size();
    if (busy_[index]) {
      // Its answer has not come since the last round: there are more workers than agents that answer.
      co_await sleep_until(Clock::now() + std::chrono::milliseconds(1));
      continue;
    }
    busy_[index] = true;
    const Deadline began = Clock::now();
    const Result<void> done = co_await phase.action(agents_[index]);
    phase.outcomes.note(done, Clock::now() - began);
    busy_[index] = false;
    if (!done && !phase.once) {
      // A lost agent fails at once, every time: this keeps its failures from being all that is measured.
      co_await sleep_until(Clock::now() + std::chrono::milliseconds(100));
    }
  }
}

asio::awaitable<void> Crowd::all(std::size_t workers, std::function<asio::awaitable<void>(std::size_t)> start) {
  const auto executor = co_await asio::this_coro::executor;
  const auto finished = std::make_shared<asio::steady_timer>(executor, kNoDeadline);
  const auto running = std::make_shared<std::size_t>(workers);
  const auto trouble = std::make_shared<std::exception_ptr>();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    auto ended = [finished, running, trouble](std::exception_ptr error) {
      *trouble = error ? error : *trouble;
      if (--*running == 0) {
        finished->cancel();
      }
    };
    asio::co_spawn(executor, start(worker), std::move(ended));
  }
  if (*running > 0) {
    co_await finished->async_wait(kAsTuple);
  }
  if (*trouble) {
    std::rethrow_exception(*trouble);
  }
}

}  // namespace gpuskew
