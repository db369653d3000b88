#pragma once

// What is to be stored, gathered until flush() writes it as one transaction. When that fails (disk full, read-only,
// locked) nothing is lost but time: it is kept and tried again, and the fleet in memory goes on.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "aggregator/history_store.h"
#include "aggregator/store_health.h"
#include "core/fleet.h"
#include "core/time.h"

namespace gpuskew {

class Log;

class HistoryWriter {
 public:
  /// Held while the store fails; beyond, the oldest are dropped, counted and logged.
  static constexpr std::size_t kMaxPendingTransitions = 100'000;
  /// While it fails, one try in this time.
  static constexpr Duration kRetryEvery = std::chrono::seconds(1);
  /// Heartbeats are written this many a second at most, so that a large fleet's do not come as one burst.
  static constexpr std::size_t kHeardPerPulse = 2'500;
  static constexpr Duration kHeardEvery = std::chrono::seconds(30);

  /// Both must outlive the object.
  HistoryWriter(HistoryStore& store, const Log& log) : store_(store), log_(log) {}

  /// `node.snapshot_wire` nullopt: only the rest changed.
  void put(const std::string& name, StoredNode node);
  void add(std::vector<Transition> transitions);
  /// Its last word is written with the next round of heartbeats.
  void heard(std::string_view name);

  bool has_pending() const { return !pending_.empty(); }
  /// Writes what is pending, unless the store failed less than kRetryEvery ago. Logs when it begins to fail and when it
  /// works again.
  void flush(Time now);
  /// Once a second: a share of the heartbeats when their round is due, and what failed before.
  void pulse(const Fleet& fleet, Time now);
  /// Everything, heartbeats included: at the stop.
  void flush_all(const Fleet& fleet, Time now);

  /// A failed read counts, too; the store is not taken for failing because of it.
  void note_read_error(const Error& error);
  const StoreHealth& health() const { return health_; }

 private:
  void drop_oldest();
  void take_heard(const Fleet& fleet, std::size_t limit);

  HistoryStore& store_;
  const Log& log_;
  HistoryBatch pending_;
  StoreHealth health_;
  Time retry_at_{};
  std::unordered_set<std::string> heard_;
  std::vector<std::string> round_;  ///< what is left of the round of heartbeats being written
  Time round_began_{};
};

}  // namespace gpuskew
