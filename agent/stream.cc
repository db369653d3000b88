#include "agent/stream.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>
#include <variant>

#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/log.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
using SessionResult = Result<std::shared_ptr<StreamSession>>;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

bool may_pass_by_itself(const Error& error) {
  return error.code == ErrorCode::Unreachable || error.code == ErrorCode::Timeout;
}

}  // namespace

Stream::Stream(asio::io_context& io, const Log& log, StreamOptions options, std::function<void()> on_state)
    : log_(log),
      options_(std::move(options)),
      on_state_(std::move(on_state)),
      outbox_(io.get_executor()),
      interruption_(io, kNoDeadline),
      backoff_(options_.limits.backoff, std::minstd_rand(std::random_device{}())),
      state_("connecting to " + to_string(options_.address)) {}

asio::awaitable<Result<void>> Stream::run() {
  while (!stopping_) {
    if (outbox_.newest() == nullptr) {
      co_await outbox_.wait(kNoDeadline);
      continue;
    }
    reconnecting_ = false;
    const End end = co_await one_connection(false);
    if (is_interrupted()) {
      instance_.reset();
      backoff_.reset();
      continue;
    }
    note_end(end);
    const Duration wait = backoff_.next();
    note_retry(wait);
    co_await sleep_until(Clock::now() + wait);
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> Stream::deliver_once(Deadline deadline) {
  Result<void> telling;  // the newest failure that says more than that the time was up
  for (;;) {
    const Deadline now = Clock::now();
    const auto left = std::chrono::duration_cast<Duration>(deadline - now);
    options_.limits.connect = std::min(options_.limits.connect, left);
    options_.limits.ack = std::min(options_.limits.ack, left);
    const End end = co_await one_connection(true);
    if (!end.result && (telling || end.result.error().code != ErrorCode::Timeout)) {
      telling = end.result;
    }
    if (stopping_ && !end.was_good) {
      co_return fail(ErrorCode::Unreachable, "stopped before the aggregator took the report");
    }
    if (end.result || !may_pass_by_itself(end.result.error())) {
      co_return end.result;
    }
    const Deadline next = Clock::now() + backoff_.next();
    if (next >= deadline) {
      co_return telling;
    }
    log_.debug("trying again", {{"reason", end.result.error().what}});
    co_await sleep_until(next);
  }
}

asio::awaitable<Stream::End> Stream::one_connection(bool once) {
  const SessionResult session = co_await open_session();
  if (!session) {
    End end{tl::unexpected(session.error()), false};
    co_return end;
  }
  End end;
  std::function<bool(bool)> finished = [this, &end, once, &session](bool acknowledged) {
    if (acknowledged && !end.was_good) {
      end.was_good = true;
      note_connected(**session);
    }
    return is_interrupted() || (once && acknowledged);
  };
  end.result = co_await (*session)->exchange(outbox_, std::move(finished));
  if (end.result) {
    co_await (*session)->close();
  }
  co_return end;
}

// A stop or a new configuration does not wait for a name server or a peer that does not answer.
asio::awaitable<SessionResult> Stream::open_session() {
  using asio::experimental::awaitable_operators::operator||;
  auto either = StreamSession::open(options_, outbox_.newest()) || until_interrupted();
  auto ended = co_await std::move(either);
  co_return ended.index() == 0 ? std::get<0>(std::move(ended)) : std::get<1>(std::move(ended));
}

asio::awaitable<SessionResult> Stream::until_interrupted() {
  while (!is_interrupted()) {
    co_await interruption_.async_wait(kAsTuple);
  }
  co_return fail(ErrorCode::Unreachable, "interrupted");
}

asio::awaitable<void> Stream::sleep_until(Deadline until) {
  while (!is_interrupted() && Clock::now() < until) {
    co_await outbox_.wait(until);
  }
}

void Stream::interrupt() {
  interruption_.cancel();
  outbox_.ring();
}

void Stream::stop() {
  stopping_ = true;
  interrupt();
}

void Stream::reconnect(StreamOptions options) {
  options_ = std::move(options);
  backoff_ = Backoff(options_.limits.backoff, std::minstd_rand(std::random_device{}()));
  failures_ = 0;
  reconnecting_ = true;
  interrupt();
}

void Stream::note_connected(const StreamSession& session) {
  log_.info("connected to the aggregator", {{"address", to_string(options_.address)},
                                            {"peer", session.peer_address()},
                                            {"version", session.version()},
                                            {"aggregator_version", session.aggregator_version()},
                                            {"failures", failures_}});
  failures_ = 0;
  backoff_.reset();
  instance_ = session.instance();
  set_state("connected to " + to_string(options_.address));
}

void Stream::note_end(const End& end) {
  const Error error = end.result ? Error{ErrorCode::Unreachable, "ended"} : end.result.error();
  const bool is_news = failures_ == 0 || error.code != last_failure_.code;
  ++failures_;
  if (end.was_good) {
    log_.warning("lost the connection to the aggregator",
                 {{"address", to_string(options_.address)}, {"reason", error.what}});
  } else if (is_news || failures_ % kFailuresALogLine == 0) {
    log_.warning("not connected to the aggregator, trying on",
                 {{"address", to_string(options_.address)}, {"reason", error.what}, {"failures", failures_}});
  }
  last_failure_ = error;
  instance_.reset();
  set_state("not connected to " + to_string(options_.address) + ": " + error.what);
}

void Stream::note_retry(Duration wait) {
  log_.debug("waiting before the next try", {{"wait_ms", wait.count()}});
}

void Stream::set_state(std::string state) {
  if (state != state_) {
    state_ = std::move(state);
    if (on_state_) {
      on_state_();
    }
  }
}

}  // namespace gpuskew
