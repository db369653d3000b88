#include "aggregator/history_writer.h"

#include <limits>
#include <utility>

#include "runtime/log.h"

namespace gpuskew {

void HistoryWriter::put(const std::string& name, StoredNode node) {
  StoredNode& pending = pending_.nodes[name];
  if (!node.snapshot_wire) {
    node.snapshot_wire = std::move(pending.snapshot_wire);
  }
  pending = std::move(node);
}

void HistoryWriter::add(std::vector<Transition> transitions) {
  for (Transition& transition : transitions) {
    pending_.transitions.push_back(std::move(transition));
  }
  if (pending_.transitions.size() > kMaxPendingTransitions) {
    drop_oldest();
  }
}

void HistoryWriter::drop_oldest() {
  std::size_t surplus = pending_.transitions.size() - kMaxPendingTransitions;
  if (health_.dropped_transitions == 0) {
    log_.error("history is being lost: the database has failed for too long, the oldest transitions are dropped",
               {{"limit", kMaxPendingTransitions}});
  }
  health_.dropped_transitions += surplus;
  pending_.transitions.erase(pending_.transitions.begin(),
                             pending_.transitions.begin() + static_cast<std::ptrdiff_t>(surplus));
}

void HistoryWriter::heard(std::string_view name) {
  heard_.emplace(name);
}

void HistoryWriter::flush(Time now) {
  if (pending_.empty() || (health_.error && now < retry_at_)) {
    return;
  }
  Result<void> written = store_.write(pending_);
  if (written) {
    pending_ = HistoryBatch{};
    if (health_.error) {
      log_.info("history database works again", {{"failed_for", to_short_text(now - health_.failing_since)},
                                                 {"dropped_transitions", health_.dropped_transitions}});
      health_.error = std::nullopt;
    }
    return;
  }
  ++health_.errors;
  retry_at_ = now + kRetryEvery;
  if (!health_.error) {
    health_.failing_since = now;
    log_.error("history database can not be written; the fleet goes on in memory, and writing is tried again",
               {{"why", written.error().what}});
  }
  health_.error = written.error().what;
}

void HistoryWriter::pulse(const Fleet& fleet, Time now) {
  if (round_.empty() && now - round_began_ >= kHeardEvery) {
    round_began_ = now;
    round_.assign(heard_.begin(), heard_.end());
    heard_.clear();
  }
  take_heard(fleet, kHeardPerPulse);
  flush(now);
}

void HistoryWriter::flush_all(const Fleet& fleet, Time now) {
  round_.insert(round_.end(), heard_.begin(), heard_.end());
  heard_.clear();
  take_heard(fleet, std::numeric_limits<std::size_t>::max());
  retry_at_ = now;
  flush(now);
}

void HistoryWriter::take_heard(const Fleet& fleet, std::size_t limit) {
  for (; limit > 0 && !round_.empty(); --limit) {
    if (const NodeRecord* record = fleet.find(round_.back())) {
      pending_.heard[round_.back()] = heard_of(record->last_heard, record->history);
    }
    round_.pop_back();
  }
}

void HistoryWriter::note_read_error(const Error& error) {
  ++health_.errors;
  log_.error("history database can not be read", {{"why", error.what}});
}

}  // namespace gpuskew
