#pragma once

// The fleet in memory, its history in the database and the lines in the log, kept in step: whatever changes the fleet
// goes through here.

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "aggregator/history_writer.h"
#include "core/fleet.h"
#include "core/judge.h"
#include "core/matrix.h"
#include "core/result.h"

namespace gpuskew {

class Log;

class FleetRecorder {
 public:
  /// All must outlive the object.
  FleetRecorder(Fleet& fleet, HistoryWriter& writer, const Log& log) : fleet_(fleet), writer_(writer), log_(log) {}

  /// A report whose facts are new. `wire` is its gpuskew.v1.Snapshot as it came. Errors: TooLarge (no room for another
  /// node).
  Result<void> report(Snapshot snapshot, std::string_view wire, Time now);
  /// A heartbeat, or a report that says again what the last one said.
  void heard_from(std::string_view node, Time now);
  void tick(Time now);
  /// Fleet::put_unheard() and forget(): neither is stored, and what is stored of a node stays.
  void put_unheard(Snapshot snapshot, Verdict verdict);
  void forget(std::string_view node, std::string_view why);
  void set_rules(JudgePolicy policy, std::shared_ptr<const Matrix> matrix, Time now);

  const Fleet& fleet() const { return fleet_; }
  FactPool& fact_pool() { return fleet_.fact_pool(); }

 private:
  void record(std::vector<Transition> transitions);
  void log_transition(const Transition& transition) const;

  Fleet& fleet_;
  HistoryWriter& writer_;
  const Log& log_;
};

}  // namespace gpuskew
