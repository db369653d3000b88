#include "aggregator/housekeeping.h"

#include <algorithm>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/systemd.h"

namespace gpuskew {

namespace {

// A moment that has just passed must not turn into a busy loop when the clock reads a little early.
constexpr Duration kShortestWait = std::chrono::milliseconds(5);

}  // namespace

Housekeeping::Housekeeping(FleetRecorder& recorder, HistoryStore& store, HistoryWriter& writer, MatrixFile& matrix,
                           const ServiceManager& manager, const Log& log, Duration retention)
    : recorder_(recorder),
      store_(store),
      writer_(writer),
      matrix_(matrix),
      manager_(manager),
      log_(log),
      retention_(retention) {}

asio::awaitable<Result<void>> Housekeeping::run() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  for (;;) {
    pulse(wall_clock_now());
    timer.expires_after(until_next(wall_clock_now()));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

Duration Housekeeping::until_next(Time now) const {
  const std::optional<Time> next = recorder_.fleet().next_tick();
  return next ? std::clamp(Duration(*next - now), kShortestWait, kPulse) : kPulse;
}

void Housekeeping::pulse(Time now) {
  recorder_.tick(now);
  if (now - matrix_polled_ >= kMatrixPoll || now < matrix_polled_) {
    matrix_polled_ = now;
    if (matrix_.poll()) {
      use_matrix(now);
    }
  }
  writer_.pulse(recorder_.fleet(), now);
  prune(now);
  std::string status = status_line();
  if (status != told_status_) {
    told_status_ = std::move(status);
    const Result<void> told = manager_.status(told_status_);
    if (!told) {
      log_.warning("systemd does not know the status, ignoring", {{"reason", told.error().what}});
    }
  }
}

void Housekeeping::use_matrix(Time now) {
  const MatrixStatus status = matrix_.status();
  if (status.error) {
    log_.warning("matrix can not be read, the last good one stays",
                 {{"file", status.source}, {"rows", status.rows}, {"reason", *status.error}});
  } else if (status.configured) {
    log_.info("matrix read", {{"file", status.source}, {"rows", status.rows}});
  }
  if (matrix_.matrix().get() != recorder_.fleet().matrix()) {
    recorder_.set_rules(recorder_.fleet().policy(), matrix_.matrix(), now);
  }
}

void Housekeeping::prune(Time now) {
  if (!pruning_ && (now - pruned_ >= kPruneEvery || now < pruned_)) {
    pruning_ = true;
    pruned_ = now;
  }
  if (!pruning_ || writer_.health().error) {
    return;
  }
  const Result<std::int64_t> deleted = store_.prune(now - retention_);
  if (!deleted) {
    log_.warning("old history can not be deleted, trying again in an hour", {{"reason", deleted.error().what}});
  }
  pruning_ = deleted && *deleted == HistoryStore::kPruneRows;
}

std::string Housekeeping::status_line() const {
  std::size_t critical = 0;
  for (const auto& [name, record] : recorder_.fleet().nodes()) {
    for (const Finding& finding : record.verdict.findings) {
      critical += finding.severity == Severity::Critical ? 1 : 0;
    }
  }
  const std::size_t nodes = recorder_.fleet().nodes().size();
  return fmt::format("{} {}, {} critical", nodes, nodes == 1 ? "node" : "nodes", critical);
}

}  // namespace gpuskew
