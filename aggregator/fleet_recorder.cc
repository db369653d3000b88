#include "aggregator/fleet_recorder.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "runtime/log.h"

namespace gpuskew {

namespace {

StoredNode stored_form(const NodeRecord& record) {
  StoredNode stored;
  stored.history = record.history;
  stored.first_seen = record.first_seen;
  stored.last_heard = record.last_heard;
  return stored;
}

const Finding* open_finding(const NodeRecord& record, std::string_view code) {
  const std::vector<Finding>& findings = record.verdict.findings;
  auto at = std::find_if(findings.begin(), findings.end(),
                         [code](const Finding& finding) { return to_string(finding.code) == code; });
  return at == findings.end() ? nullptr : &*at;
}

}  // namespace

Result<void> FleetRecorder::report(Snapshot snapshot, std::string_view wire, Time now) {
  std::string node = snapshot.node;
  Result<std::vector<Transition>> transitions = fleet_.apply(std::move(snapshot), now);
  if (!transitions) {
    return tl::unexpected(transitions.error());
  }
  if (const NodeRecord* reported = fleet_.find(node)) {
    StoredNode stored = stored_form(*reported);
    stored.snapshot_wire = std::string(wire);
    writer_.put(node, std::move(stored));
  }
  record(std::move(*transitions));
  return {};
}

void FleetRecorder::heard_from(std::string_view node, Time now) {
  fleet_.heard_from(node, now);
  writer_.heard(node);
}

void FleetRecorder::tick(Time now) {
  record(fleet_.tick(now));
}

void FleetRecorder::put_unheard(Snapshot snapshot, Verdict verdict) {
  if (fleet_.find(snapshot.node) == nullptr) {
    log_.warning("a GPU node of the cluster has no agent", {{"node", snapshot.node}, {"reason", verdict.why}});
  }
  fleet_.put_unheard(std::move(snapshot), std::move(verdict));
}

void FleetRecorder::forget(std::string_view node, std::string_view why) {
  log_.info("node forgotten", {{"node", node}, {"reason", why}});
  fleet_.forget(node);
}

void FleetRecorder::set_rules(JudgePolicy policy, std::shared_ptr<const Matrix> matrix, Time now) {
  record(fleet_.set_rules(std::move(policy), std::move(matrix), now));
}

void FleetRecorder::record(std::vector<Transition> transitions) {
  std::set<std::string_view> touched;
  for (const Transition& transition : transitions) {
    touched.insert(transition.node);
    log_transition(transition);
  }
  for (std::string_view name : touched) {
    if (const NodeRecord* changed = fleet_.find(name)) {
      writer_.put(std::string(name), stored_form(*changed));
    }
  }
  writer_.add(std::move(transitions));
}

void FleetRecorder::log_transition(const Transition& transition) const {
  if (transition.kind == TransitionKind::FindingResolved) {
    log_.info("finding resolved", {{"code", transition.from}, {"node", transition.node}, {"was", transition.detail}});
    return;
  }
  if (transition.kind != TransitionKind::FindingOpened) {
    return;
  }
  const NodeRecord* record = fleet_.find(transition.node);
  const Finding* finding = record == nullptr ? nullptr : open_finding(*record, transition.to);
  std::string_view severity = finding == nullptr ? "unknown" : to_string(finding->severity);
  bool critical = finding != nullptr && finding->severity == Severity::Critical;
  std::initializer_list<LogField> fields = {
      {"code", transition.to}, {"node", transition.node}, {"severity", severity}, {"cause", transition.detail}};
  if (critical) {
    log_.warning("finding opened", fields);
  } else {
    log_.info("finding opened", fields);
  }
}

}  // namespace gpuskew
