#include "agent/check.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "agent/state_file.h"
#include "core/facts/each_fact.h"
#include "core/printable.h"
#include "proto/json.h"

namespace gpuskew {
namespace {

bool is_of_next_boot(const Finding& finding) {
  return finding.code == FindingCode::ModuleMissingNextKernel || finding.code == FindingCode::ImageMissingNextKernel;
}

std::string node_text(const Snapshot& snapshot) {
  return snapshot.node.empty() ? "this node" : printable(snapshot.node);
}

std::string outcome_text(const NextBoot& next) {
  switch (next.gpu) {
    case NextBootGpu::Keeps:
      return "keeps the GPU";
    case NextBootGpu::Loses:
      return "loses the GPU";
    case NextBootGpu::CannotTell:
      return "cannot tell";
    case NextBootGpu::NotApplicable:
      return "nothing to lose";
  }
  return "cannot tell";
}

std::string next_boot_line(const NextBoot& next) {
  return "next boot: " + outcome_text(next) + (next.why.empty() ? "" : ": " + printable(next.why)) + "\n";
}

// What the verdict could not look at: an all-clear that leaves it out would be none.
std::vector<std::pair<std::string, std::string>> unread_facts(const Snapshot& snapshot) {
  std::vector<std::pair<std::string, std::string>> unread;
  for_each_fact(snapshot, [&unread](std::string_view name, const auto& fact) {
    if (fact.is_unknown()) {
      unread.emplace_back(name, fact.why().what);
    }
  });
  return unread;
}

std::string block(const Finding& finding) {
  std::string text = std::string(to_string(finding.code)) + " (" + std::string(to_string(finding.severity)) +
                     "), since " + to_rfc3339(finding.since) + "\n";
  text += "  " + printable(finding.cause) + "\n";
  for (const Evidence& evidence : finding.evidence) {
    text += "  - " + printable(evidence.text) + " (" + printable(evidence.source) + ")\n";
  }
  text += "  reboot helps: " + std::string(to_string(finding.reboot_helps)) +
          (finding.reboot_why.empty() ? "" : ", because " + printable(finding.reboot_why)) + "\n";
  return finding.next_step.empty() ? text : text + "  next: " + printable(finding.next_step) + "\n";
}

}  // namespace

Verdict judge_alone(const Snapshot& snapshot, const JudgePolicy& policy, Time boot_first_seen, Time now) {
  NodeHistory history;
  history.boot_id = snapshot.boot_id.is_known() ? snapshot.boot_id.value() : "";
  history.boot_first_seen = boot_first_seen;
  return judge(snapshot, history, policy, nullptr, now, now);
}

Verdict narrowed(Verdict verdict, CheckScope scope) {
  const bool keeps_next_boot = scope == CheckScope::NextBoot;
  std::erase_if(verdict.findings,
                [keeps_next_boot](const Finding& finding) { return is_of_next_boot(finding) != keeps_next_boot; });
  if (scope != CheckScope::NextBoot && verdict.state == NodeState::Degraded && verdict.findings.empty()) {
    verdict.state = NodeState::Ok;
    verdict.why.clear();
  }
  return verdict;
}

CheckAnswer answer_of(const Verdict& verdict, CheckScope scope) {
  const auto counts = [scope](const Finding& finding) {
    // A GPU without any driver is a warning where none ever was; a gate waits for one all the same.
    return scope != CheckScope::CriticalNow || finding.severity == Severity::Critical ||
           finding.code == FindingCode::DriverNotLoaded;
  };
  if (std::any_of(verdict.findings.begin(), verdict.findings.end(), counts)) {
    return CheckAnswer::Findings;
  }
  if (scope == CheckScope::NextBoot) {
    switch (verdict.next_boot.gpu) {
      case NextBootGpu::Keeps:
      case NextBootGpu::NotApplicable:
        return CheckAnswer::Good;
      case NextBootGpu::Loses:
        return CheckAnswer::Findings;
      case NextBootGpu::CannotTell:
        return CheckAnswer::CouldNotTell;
    }
    return CheckAnswer::CouldNotTell;
  }
  // Degraded without a finding that counts: warnings only.
  const bool is_settled = verdict.state == NodeState::Ok || verdict.state == NodeState::NoGpu ||
                          verdict.state == NodeState::NotJudged || verdict.state == NodeState::Degraded;
  return is_settled ? CheckAnswer::Good : CheckAnswer::CouldNotTell;
}

std::string check_text(const Snapshot& snapshot, const Verdict& verdict, CheckScope scope) {
  std::string text = node_text(snapshot) + ": ";
  if (scope != CheckScope::NextBoot) {
    text += std::string(to_string(verdict.state)) + ": " +
            printable(verdict.why.empty() ? driver_summary(snapshot) : verdict.why) + "\n";
  }
  text += next_boot_line(verdict.next_boot);
  for (const Finding& finding : verdict.findings) {
    text += "\n" + block(finding);
  }
  const auto unread = unread_facts(snapshot);
  text += unread.empty() ? "" : "\nnot judged, because it could not be read:\n";
  for (const auto& [name, why] : unread) {
    text += "  " + name + ": " + printable(why) + "\n";
  }
  return text;
}

nlohmann::ordered_json check_json(const Snapshot& snapshot, const Verdict& verdict, CheckScope scope) {
  nlohmann::ordered_json json;
  json["node"] = snapshot.node;
  json["taken_at"] = to_rfc3339(snapshot.taken_at);
  json["scope"] = scope == CheckScope::NextBoot ? "next-boot" : "now";
  json["exit_code"] = static_cast<int>(answer_of(verdict, scope));
  json.update(to_json(verdict));
  json.erase("revisit_at");
  json["unknown"] = nlohmann::ordered_json::object();
  for (const auto& [name, why] : unread_facts(snapshot)) {
    json["unknown"][name] = why;
  }
  return json;
}

}  // namespace gpuskew
