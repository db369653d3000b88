#pragma once

// What happens by time alone: graces end, agents fall silent, the matrix file changes, old history goes.

#include <string>

#include <asio/awaitable.hpp>

#include "aggregator/fleet_recorder.h"
#include "aggregator/history_store.h"
#include "aggregator/history_writer.h"
#include "aggregator/matrix_file.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

class Log;
class ServiceManager;

class Housekeeping {
 public:
  /// The longest the fleet waits for a moment that a report brought nearer.
  static constexpr Duration kPulse = std::chrono::seconds(1);
  static constexpr Duration kMatrixPoll = std::chrono::seconds(2);
  /// Between rounds of deleting old history; within a round, one small batch a pulse.
  static constexpr Duration kPruneEvery = std::chrono::hours(1);

  /// References must outlive the object.
  Housekeeping(FleetRecorder& recorder, HistoryStore& store, HistoryWriter& writer, MatrixFile& matrix,
               const ServiceManager& manager, const Log& log, Duration retention);

  /// Until cancelled.
  asio::awaitable<Result<void>> run();

  /// One round of all that is due at `now`.
  void pulse(Time now);

  /// Logs what the matrix file says now and judges the fleet by it.
  void use_matrix(Time now);
  void set_retention(Duration retention) { retention_ = retention; }

  /// "5000 nodes, 3 critical": what `systemctl status` shows.
  std::string status_line() const;

 private:
  Duration until_next(Time now) const;
  void prune(Time now);

  FleetRecorder& recorder_;
  HistoryStore& store_;
  HistoryWriter& writer_;
  MatrixFile& matrix_;
  const ServiceManager& manager_;
  const Log& log_;
  Duration retention_;
  Time matrix_polled_{};
  Time pruned_{};
  bool pruning_ = false;
  std::string told_status_;
};

}  // namespace gpuskew
