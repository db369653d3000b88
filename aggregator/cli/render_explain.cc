// One node as on-call reads it: what is wrong, since when, what changed, the proof, the next command; then the facts.

#include <string_view>

#include "aggregator/cli/render.h"

namespace gpuskew {
namespace {

/// "2026-11-30T16:05:37Z (2h14m ago)"
std::string time_text(Time at, Time now) {
  return to_rfc3339(at) + " (" + ago_text(at, now) + ")";
}

/// Enough of a boot id to tell two boots apart.
std::string short_boot(const std::string& boot_id) {
  return boot_id.substr(0, 8);
}

std::string label(std::string_view name, const Screen& screen) {
  return paint(std::string(name) + ":", Style::Bold, screen) + " ";
}

std::string state_sentence(const NodeReply& node) {
  if (node.state == "no-gpu") {
    return (node.why.empty() ? "no NVIDIA GPU" : node.why) + ": this node needs no driver, and nothing is wrong";
  }
  if (node.state == "ok") {
    return node.why.empty() ? "the driver is loaded and holds its GPUs; nothing is wrong that gpuskew looks for"
                            : node.why;
  }
  return node.why.empty() ? "the aggregator gives no reason" : node.why;
}

std::string gpu_count_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

std::string driver_text(const Fact<std::string>& driver) {
  return driver.is_known() ? driver.value() : driver.is_absent() ? "no driver" : "driver unknown";
}

/// What was before is worth telling when it is not what is now.
bool differs_from_now(const LastGoodReply& good, const NodeFacts& facts) {
  return !facts.driver.is_known() || facts.driver.value() != good.driver || !facts.kernel.is_known() ||
         facts.kernel.value() != good.kernel;
}

std::string before_line(const LastGoodReply& good, Time now, const Screen& screen) {
  std::string text = label("before", screen) + good.driver + " on " + good.kernel + " (";
  text += good.boot_id.empty() ? "" : "boot " + short_boot(good.boot_id) + ", ";
  text += "last seen " + to_rfc3339(good.at) + ", " + ago_text(good.at, now);
  text += good.gpu_count ? ", " + gpu_count_text(*good.gpu_count) : "";
  text += good.from_container ? ", from the driver container" : "";
  return text + ")\n";
}

std::string now_line(const NodeFacts& facts, const Screen& screen) {
  std::string text = label("now", screen) + driver_text(facts.driver) + " on ";
  text += facts.kernel.is_known() ? facts.kernel.value() : "kernel " + long_text(facts.kernel, "not told");
  std::string boot;
  if (facts.boot_id.is_known()) {
    boot = "boot " + short_boot(facts.boot_id.value());
  }
  if (facts.boot_time.is_known()) {
    boot += (boot.empty() ? "" : ", ") + std::string("up since ") + facts.boot_time.value();
  }
  return text + (boot.empty() ? "" : " (" + boot + ")") + "\n";
}

std::string evidence_lines(const FindingReply& finding, const Screen& screen) {
  std::string text;
  if (!finding.evidence.empty()) {
    text += paint("evidence:", Style::Bold, screen) + "\n";
  }
  for (const Evidence& evidence : finding.evidence) {
    text += "  - " + evidence.text +
            paint(" (" + evidence.source + ", " + to_rfc3339(evidence.at) + ")", Style::Faint, screen) + "\n";
  }
  return text;
}

std::string finding_block(const FindingReply& finding, const Screen& screen) {
  std::string text = evidence_lines(finding, screen);
  text += label("reboot helps", screen) + finding.reboot_helps +
          (finding.reboot_why.empty() ? "" : ", because " + finding.reboot_why) + "\n";
  if (!finding.affected_gpus.empty()) {
    text += label("affected GPUs", screen) + joined(finding.affected_gpus, ", ") + "\n";
  }
  if (!finding.consequences.empty()) {
    text += label("therefore", screen) + joined(finding.consequences, "; ") + "\n";
  }
  if (!finding.next_step.empty()) {
    text += "\n";
    text += paint("next step:", Style::Bold, screen) + "\n" + finding.next_step + "\n";
  }
  return text;
}

std::string finding_title(const FindingReply& finding, const Screen& screen) {
  return label("finding", screen) +
         paint(finding.code + " (" + finding.severity + ")", style_of_severity(finding.severity), screen) + "\n";
}

/// "loses the GPU"; the words of a later aggregator as they are.
std::string outcome_text(const std::string& outcome) {
  if (outcome == "keeps" || outcome == "loses") {
    return outcome + " the GPU";
  }
  if (outcome == "cannot-tell") {
    return "can not be told";
  }
  return outcome == "not-applicable" ? "not judged" : outcome;
}

std::string next_boot_line(const NextBootReply& next, const Screen& screen) {
  std::string text =
      label("next boot", screen) + paint(outcome_text(next.outcome), style_of_outcome(next.outcome), screen);
  text += next.kernel ? ", kernel " + *next.kernel : "";
  return text + (next.why.empty() ? "" : ": " + next.why) + "\n";
}

}  // namespace

std::string render_explain(const NodeReply& node, const ImageAnswer& image, Time now, const Screen& screen) {
  std::string text = paint(node.name, Style::Bold, screen) + ": " +
                     paint(node.state, style_of_state(node.state), screen) + "\n" + state_sentence(node) + "\n\n";
  std::string changes;
  if (node.last_good && differs_from_now(*node.last_good, node.facts)) {
    changes += before_line(*node.last_good, now, screen);
  }
  changes += now_line(node.facts, screen);
  if (node.findings.empty()) {
    text += changes;
  }
  if (node.cluster) {
    for (const std::string& note : node.cluster->notes) {
      text += label("note", screen) + note + "\n";
    }
  }
  for (std::size_t i = 0; i < node.findings.size(); ++i) {
    const FindingReply& finding = node.findings[i];
    text += i == 0 ? "" : "\n";
    text += finding_title(finding, screen);
    text += label("since", screen) + time_text(finding.since, now) + "\n";
    if (i == 0) {
      text += changes;
    }
    if (finding.cause != node.why) {
      text += label("cause", screen) + finding.cause + "\n";
    }
    text += finding_block(finding, screen);
  }
  if (node.next_boot) {
    text += (node.findings.empty() ? "" : "\n") + next_boot_line(*node.next_boot, screen);
  }
  return text + (node.is_of_cluster_only() ? render_cluster_facts(node, image, screen)
                                           : render_node_facts(node, image, now, screen));
}

}  // namespace gpuskew
