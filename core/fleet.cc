#include "core/fleet.h"

#include <algorithm>

#include "core/name_table.h"

namespace gpuskew {
namespace {

constexpr NameTable<TransitionKind, 8> kKinds{{
    {TransitionKind::NodeSeen, "node-seen"},
    {TransitionKind::Boot, "boot"},
    {TransitionKind::KernelChanged, "kernel"},
    {TransitionKind::DriverChanged, "driver"},
    {TransitionKind::GpusChanged, "gpus"},
    {TransitionKind::StateChanged, "state"},
    {TransitionKind::FindingOpened, "finding-opened"},
    {TransitionKind::FindingResolved, "finding-resolved"},
}};

constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kNone = "none";

std::string text_of(const Fact<std::string>& fact) {
  return fact.is_known() ? fact.value() : std::string(fact.is_absent() ? kNone : kUnknown);
}

template <class Version>
std::string text_of(const Fact<Version>& fact) {
  return fact.is_known() ? fact->text() : std::string(fact.is_absent() ? kNone : kUnknown);
}

std::string count_of(const Fact<std::vector<Gpu>>& gpus) {
  if (gpus.is_unknown()) {
    return std::string(kUnknown);
  }
  return std::to_string(gpus.is_known() ? gpus->size() : 0);
}

// What differs between two reports of one node, in the words its history is read in.
void note_fact_changes(const Snapshot& before, const Snapshot& after, Time now, std::vector<Transition>& out) {
  if (before.boot_id != after.boot_id && text_of(before.boot_id) != text_of(after.boot_id)) {
    out.push_back({after.node, now, TransitionKind::Boot, text_of(before.boot_id), text_of(after.boot_id), ""});
  }
  if (text_of(before.kernel) != text_of(after.kernel)) {
    out.push_back({after.node, now, TransitionKind::KernelChanged, text_of(before.kernel), text_of(after.kernel), ""});
  }
  if (text_of(before.loaded_driver) != text_of(after.loaded_driver)) {
    out.push_back({after.node, now, TransitionKind::DriverChanged, text_of(before.loaded_driver),
                   text_of(after.loaded_driver),
                   after.loaded_driver.is_unknown() ? after.loaded_driver.why().what : std::string()});
  }
  if (count_of(before.gpus) != count_of(after.gpus)) {
    out.push_back({after.node, now, TransitionKind::GpusChanged, count_of(before.gpus), count_of(after.gpus), ""});
  }
}

void remember(const Snapshot& snapshot, Time now, NodeHistory& history) {
  const std::string boot = snapshot.boot_id.is_known() ? snapshot.boot_id.value() : std::string();
  if (history.boot_first_seen == Time{} || (!boot.empty() && boot != history.boot_id)) {
    history.boot_first_seen = now;
    history.boot_id = boot;
  }
  if (std::optional<LastGood> good = good_state(snapshot)) {
    good->at = now;  // our clock: the agent's may be wrong
    keep_known_gpus(history.last_good ? history.last_good : snapshot.remembered, *good);
    history.last_good = std::move(good);
  } else if (!history.last_good) {
    history.last_good = snapshot.remembered;
  }
}

const Finding* find_code(const std::vector<Finding>& findings, FindingCode code) {
  const auto at = std::find_if(findings.begin(), findings.end(), [code](const Finding& f) { return f.code == code; });
  return at == findings.end() ? nullptr : &*at;
}

}  // namespace

std::string_view to_string(TransitionKind kind) {
  return name_of(kKinds, kind);
}

std::optional<TransitionKind> transition_kind_from(std::string_view text) {
  return value_of(kKinds, text);
}

Result<std::vector<Transition>> Fleet::apply(Snapshot snapshot, Time now) {
  std::vector<Transition> out;
  auto at = nodes_.find(snapshot.node);
  if (at != nodes_.end() && !at->second.was_heard()) {
    nodes_.erase(at);  // never judged, so it waits for nothing
    at = nodes_.end();
  }
  if (at == nodes_.end()) {
    if (nodes_.size() >= kMaxNodes) {
      return fail(ErrorCode::TooLarge, "node " + snapshot.node + " is one more than the " + std::to_string(kMaxNodes) +
                                           " this aggregator holds");
    }
    at = nodes_.emplace(snapshot.node, NodeRecord{}).first;
    at->second.first_seen = now;
    out.push_back({snapshot.node, now, TransitionKind::NodeSeen, "", text_of(snapshot.kernel),
                   "driver " + text_of(snapshot.loaded_driver) + ", GPUs " + count_of(snapshot.gpus)});
  } else {
    note_fact_changes(at->second.snapshot, snapshot, now, out);
  }
  NodeRecord& record = at->second;
  record.snapshot = std::move(snapshot);
  record.last_heard = now;
  ++record.report;
  remember(record.snapshot, now, record.history);
  judge_node(record, now, out);
  return out;
}

void Fleet::heard_from(std::string_view node, Time now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) {
    return;
  }
  NodeRecord& record = at->second;
  record.last_heard = now;
  if (record.snapshot.loaded_driver.is_known() && record.history.last_good) {
    record.history.last_good->at = now;
  }
  if (record.history.open_since.contains(FindingCode::AgentSilent)) {
    queue(record, now);  // it speaks again: the next tick says so
  }
}

std::vector<Transition> Fleet::tick(Time now) {
  std::vector<std::pair<Time, std::string>> due;
  while (!revisits_.empty() && revisits_.begin()->first <= now) {
    due.push_back(std::move(revisits_.extract(revisits_.begin()).value()));
  }
  std::vector<Transition> out;
  for (const auto& [at, name] : due) {
    NodeRecord& record = nodes_.find(name)->second;
    if (record.scheduled == at) {
      record.scheduled = std::nullopt;
      judge_node(record, now, out);
    }
  }
  return out;
}

std::optional<Time> Fleet::next_tick() const {
  return revisits_.empty() ? std::nullopt : std::optional<Time>(revisits_.begin()->first);
}

std::vector<Transition> Fleet::set_rules(JudgePolicy policy, std::shared_ptr<const Matrix> matrix, Time now) {
  policy_ = std::move(policy);
  matrix_ = std::move(matrix);
  std::vector<Transition> out;
  for (auto& [name, record] : nodes_) {
    if (record.was_heard()) {
      judge_node(record, now, out);
    }
  }
  return out;
}

void Fleet::restore(NodeRecord record, Time now) {
  listening_since_ = std::max(listening_since_, now);
  record.judged = false;
  record.scheduled = std::nullopt;
  const std::string name = record.snapshot.node;
  queue(nodes_.insert_or_assign(name, std::move(record)).first->second, now);
}

void Fleet::put_unheard(Snapshot snapshot, Verdict verdict) {
  auto at = nodes_.find(snapshot.node);
  if (at == nodes_.end()) {
    if (nodes_.size() >= kMaxNodes) {
      return;
    }
    at = nodes_.emplace(snapshot.node, NodeRecord{}).first;
  }
  NodeRecord& record = at->second;
  if (record.was_heard()) {
    return;
  }
  record.snapshot = std::move(snapshot);
  record.verdict = std::move(verdict);
  record.judged = true;
  ++verdicts_given_;
}

void Fleet::forget(std::string_view node) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) {
    return;
  }
  if (at->second.scheduled) {
    revisits_.erase({*at->second.scheduled, at->first});
  }
  nodes_.erase(at);
  ++verdicts_given_;
}

const NodeRecord* Fleet::find(std::string_view node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second;
}

void Fleet::judge_node(NodeRecord& record, Time now, std::vector<Transition>& out) {
  const Time heard = std::max(record.last_heard, listening_since_);
  Verdict verdict = judge(record.snapshot, record.history, policy_, matrix_.get(), heard, now);
  const std::string& node = record.snapshot.node;
  auto& open = record.history.open_since;
  for (auto at = open.begin(); at != open.end();) {
    if (find_code(verdict.findings, at->first) == nullptr) {
      out.push_back({node, now, TransitionKind::FindingResolved, std::string(to_string(at->first)), "",
                     "open for " + to_short_text(now - at->second)});
      at = open.erase(at);
    } else {
      ++at;
    }
  }
  for (const Finding& finding : verdict.findings) {
    if (open.emplace(finding.code, finding.since).second) {
      out.push_back(
          {node, now, TransitionKind::FindingOpened, "", std::string(to_string(finding.code)), finding.cause});
    }
  }
  if (record.judged && verdict.state != record.verdict.state) {
    out.push_back({node, now, TransitionKind::StateChanged, std::string(to_string(record.verdict.state)),
                   std::string(to_string(verdict.state)), verdict.why});
  }
  record.verdict = std::move(verdict);
  record.judged = true;
  ++verdicts_given_;
  schedule(record);
}

// Queued at the earliest moment only: a heartbeat moves the revisit away each time, and a visit that comes too early
// just finds nothing and queues the next.
void Fleet::schedule(NodeRecord& record) {
  const std::optional<Time> wanted = record.verdict.revisit_at;
  if (!wanted || (record.scheduled && *record.scheduled <= *wanted)) {
    return;
  }
  queue(record, *wanted);
}

void Fleet::queue(NodeRecord& record, Time at) {
  if (record.scheduled) {
    revisits_.erase({*record.scheduled, record.snapshot.node});
  }
  record.scheduled = at;
  revisits_.emplace(at, record.snapshot.node);
}

}  // namespace gpuskew
