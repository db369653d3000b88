#include "core/acting.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpuskew {
namespace {

using Records = std::map<std::string, NodeRecord, std::less<>>;

// "gpu-gone-after-kernel-bump" -> "GpuGoneAfterKernelBump": what Kubernetes asks of a reason.
std::string camel_case(std::string_view words) {
  std::string out;
  bool upper = true;
  for (const char c : words) {
    if (c == '-') {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

// Cut between two characters of UTF-8.
std::string cut(std::string text) {
  if (text.size() <= kMaxConditionMessage) {
    return text;
  }
  std::size_t end = kMaxConditionMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  text.resize(end);
  return text;
}

ConditionMark mark(std::string status, std::string reason, std::string message) {
  return {std::move(status), std::move(reason), cut(std::move(message))};
}

ConditionMark mark_of_finding(std::string status, const Finding& finding) {
  std::string message = finding.cause;
  if (!finding.next_step.empty()) {
    message += " Next: " + finding.next_step;
  }
  return mark(std::move(status), camel_case(to_string(finding.code)), std::move(message));
}

bool takes_every_gpu(FindingCode code) {
  switch (code) {
    case FindingCode::GpuGoneAfterKernelBump:
    case FindingCode::DriverNotLoaded:
    case FindingCode::DriverLibraryMismatch:
    case FindingCode::WrongDriverBound:
    case FindingCode::WrongModuleFlavour:
    case FindingCode::ModuleRejected:
    case FindingCode::ModuleWedged:
      return true;
    default:
      return false;
  }
}

bool leaves_a_gpu(const Finding& finding, const Snapshot& snapshot) {
  return !finding.affected_gpus.empty() && snapshot.gpus.is_known() &&
         finding.affected_gpus.size() < snapshot.gpus->size();
}

bool has_gpu(NodeState state) {
  return state != NodeState::NoGpu && state != NodeState::NotJudged;
}

std::size_t most_tainted(std::size_t gpu_nodes, double fraction) {
  const auto allowed = static_cast<std::size_t>(std::floor(static_cast<double>(gpu_nodes) * fraction));
  return std::max<std::size_t>(allowed, 1);
}

std::string percent(double fraction) {
  return std::to_string(std::lround(fraction * 100)) + "%";
}

// The condition and the Event for it.
void plan_condition(const std::string& node, const NodeRecord& record, const NodeMarks& marks,
                    const ActingPolicy& policy, std::vector<Action>& actions) {
  const std::optional<ConditionMark> wanted = condition_for(record.verdict);
  if (!wanted) {
    if (marks.condition) {
      actions.push_back({node, ActionKind::DropCondition, {}, false});
    }
    return;
  }
  if (marks.condition == wanted) {
    return;
  }
  // A new message alone is no event, and neither is the first word that all is well.
  const bool is_new =
      !marks.condition || marks.condition->status != wanted->status || marks.condition->reason != wanted->reason;
  const bool is_first_good = !marks.condition && wanted->status == "True";
  actions.push_back({node, ActionKind::SetCondition, *wanted, policy.events && is_new && !is_first_good});
}

}  // namespace

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::SetCondition:
      return "set-condition";
    case ActionKind::DropCondition:
      return "drop-condition";
    case ActionKind::AddTaint:
      return "add-taint";
    case ActionKind::RemoveTaint:
      return "remove-taint";
  }
  return "";
}

std::optional<ConditionMark> condition_for(const Verdict& verdict) {
  const Finding* first = verdict.findings.empty() ? nullptr : &verdict.findings.front();
  switch (verdict.state) {
    case NodeState::NoGpu:
    case NodeState::NotJudged:
      return std::nullopt;
    case NodeState::Ok:
      return mark("True", "GpuReady", "the driver is loaded and its libraries agree");
    case NodeState::Degraded:
      return first == nullptr ? mark("True", "Degraded", verdict.why) : mark_of_finding("True", *first);
    case NodeState::Broken:
      return first == nullptr ? mark("False", "Broken", verdict.why) : mark_of_finding("False", *first);
    case NodeState::Starting:
      return mark("Unknown", "Starting", verdict.why);
    case NodeState::Unknown:
      return mark("Unknown", "Unknown", verdict.why);
  }
  return std::nullopt;
}

bool is_gpu_gone(const NodeRecord& record) {
  if (record.verdict.state != NodeState::Broken) {
    return false;
  }
  return std::any_of(record.verdict.findings.begin(), record.verdict.findings.end(), [&](const Finding& finding) {
    return finding.severity == Severity::Critical && takes_every_gpu(finding.code) &&
           !leaves_a_gpu(finding, record.snapshot);
  });
}

ActionPlan plan_actions(const Records& records, const NodeMarksByName& marks, const ActingPolicy& policy) {
  ActionPlan plan;
  std::vector<Action> taints;
  std::size_t tainted = 0;  // once the plan is carried out
  for (const auto& [node, carried] : marks) {
    const auto found = records.find(node);
    if (found == records.end() || !found->second.judged) {
      tainted += carried.tainted ? 1 : 0;
      continue;
    }
    const NodeRecord& record = found->second;
    const NodeState state = record.verdict.state;
    const bool gone = is_gpu_gone(record);
    plan.gpu_nodes += has_gpu(state) ? 1 : 0;
    plan.gone += gone ? 1 : 0;
    if (policy.condition) {
      plan_condition(node, record, carried, policy, plan.actions);
    }
    if (!policy.taint) {
      continue;
    }
    const bool may_heal = state != NodeState::Unknown && state != NodeState::Starting;
    const ConditionMark why = condition_for(record.verdict).value_or(ConditionMark{});
    if (carried.tainted && !gone && may_heal) {
      plan.actions.push_back({node, ActionKind::RemoveTaint, why, false});
    } else if (!carried.tainted && gone) {
      taints.push_back({node, ActionKind::AddTaint, why, false});
    } else {
      tainted += carried.tainted ? 1 : 0;
    }
  }
  plan.most_tainted = most_tainted(plan.gpu_nodes, policy.max_tainted_fraction);
  if (taints.empty()) {
    return plan;
  }
  const std::size_t would_be = tainted + taints.size();
  if (would_be > plan.most_tainted) {
    plan.fuse = std::to_string(would_be) + " of " + std::to_string(plan.gpu_nodes) +
                " GPU nodes would carry the taint " + std::string(kGpuGoneTaint) + ", " +
                std::to_string(plan.most_tainted) + " may (" + percent(policy.max_tainted_fraction) +
                "): no node is tainted until this is looked at";
    return plan;
  }
  plan.actions.insert(plan.actions.end(), std::make_move_iterator(taints.begin()),
                      std::make_move_iterator(taints.end()));
  return plan;
}

}  // namespace gpuskew
