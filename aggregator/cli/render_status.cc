// The fleet on one screen: 24 lines at most, the worst first, and nothing unknown left out.

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "aggregator/cli/render.h"
#include "aggregator/cli/screen_text.h"

namespace gpuskew {
namespace {

/// Four lines each.
constexpr std::size_t kShownFindings = 3;
constexpr std::size_t kShownUnknown = 3;

constexpr std::array<std::string_view, 7> kWorstFirst = {"broken", "degraded", "unknown",   "starting",
                                                         "ok",     "no-gpu",   "not-judged"};

std::string plural(std::uint64_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

/// Known states worst first, then those of a newer aggregator; none that counts zero.
Counts in_order(const Counts& by_state) {
  Counts ordered = by_state;
  const auto rank = [](const auto& one) {
    return std::find(kWorstFirst.begin(), kWorstFirst.end(), one.first) - kWorstFirst.begin();
  };
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::erase_if(ordered, [](const auto& one) { return one.second == 0; });
  return ordered;
}

std::string nodes_line(const StatusReply& status, const Screen& screen) {
  std::string line = plural(status.total, "node") + ": ";
  std::string_view between;
  for (const auto& [state, count] : in_order(status.by_state)) {
    line += between;
    line += paint(std::to_string(count) + " " + state, style_of_state(state), screen);
    between = ", ";
  }
  return line + "\n";
}

std::string findings_line(const StatusReply& status, const Screen& screen) {
  if (status.findings() == 0) {
    return "findings: none\n";
  }
  std::string line = "findings: ";
  std::string_view between;
  for (const auto& [severity, count] : status.by_severity) {
    if (count > 0) {
      line += between;
      line += paint(std::to_string(count) + " " + severity, style_of_severity(severity), screen);
      between = ", ";
    }
  }
  return line + "\n";
}

std::string matrix_line(const MatrixReply& matrix, const Screen& screen) {
  if (!matrix.configured) {
    return "matrix: none configured, so no image is known to exist or to be missing" +
           (matrix.error ? ": " + *matrix.error : std::string()) + "\n";
  }
  std::string line = "matrix: " + plural(matrix.rows, "image");
  line += matrix.source.empty() ? "" : " from " + matrix.source;
  if (matrix.error) {
    line += paint("; the last reading failed: " + *matrix.error, Style::Warning, screen);
  }
  return line + "\n";
}

/// "cluster: 5 nodes Ready, 1 not Ready, 2 cordoned; 4 show a sign of a GPU"
std::string cluster_line(const ClusterCounts& cluster, const Screen& screen) {
  std::string line = "cluster: " + plural(cluster.ready, "node") + " Ready";
  line += cluster.not_ready > 0 ? ", " + std::to_string(cluster.not_ready) + " not Ready" : "";
  line += cluster.unschedulable > 0 ? ", " + std::to_string(cluster.unschedulable) + " cordoned" : "";
  line += "; " + std::to_string(cluster.gpu_nodes) + (cluster.gpu_nodes == 1 ? " shows" : " show") + " a sign of a GPU";
  if (cluster.contradictory > 0) {
    line += paint("; " + std::to_string(cluster.contradictory) + " at odds with " +
                      (cluster.contradictory == 1 ? "its" : "their") + " own labels (gpuskew nodes -o wide)",
                  Style::Warning, screen);
  }
  return line + "\n";
}

/// Which findings to show: the first of each code, then the next worst, in the server's order.
std::vector<std::size_t> chosen_findings(const std::vector<FindingReply>& findings) {
  std::vector<std::size_t> chosen;
  const auto code_is_chosen = [&](const std::string& code) {
    return std::any_of(chosen.begin(), chosen.end(), [&](std::size_t i) { return findings[i].code == code; });
  };
  for (std::size_t i = 0; i < findings.size() && chosen.size() < kShownFindings; ++i) {
    if (!code_is_chosen(findings[i].code)) {
      chosen.push_back(i);
    }
  }
  for (std::size_t i = 0; i < findings.size() && chosen.size() < kShownFindings; ++i) {
    if (std::find(chosen.begin(), chosen.end(), i) == chosen.end()) {
      chosen.push_back(i);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string upper(std::string word) {
  for (char& c : word) {
    c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return word;
}

/// Prose may be cut on a terminal; `explain` has it whole. A command never is.
std::string prose_line(const std::string& text, const Screen& screen) {
  return "  " + (screen.columns ? cut_to(text, *screen.columns - 2) : text) + "\n";
}

std::string finding_lines(const FindingReply& finding, Time now, const Screen& screen) {
  std::string text = paint(upper(finding.severity), style_of_severity(finding.severity), screen) + " " +
                     paint(finding.node, Style::Bold, screen) + " " + finding.code + ", since " +
                     ago_text(finding.since, now) + "\n";
  text += prose_line(finding.cause, screen);
  text += prose_line(
      "reboot helps: " + finding.reboot_helps + (finding.reboot_why.empty() ? "" : ", " + finding.reboot_why), screen);
  return text + "  next: " + finding.next_step + "\n";
}

/// How often each code stands among the findings that are not shown, the most frequent first.
Counts codes_left(const std::vector<FindingReply>& findings, const std::vector<std::size_t>& shown) {
  std::map<std::string, std::uint64_t, std::less<>> by_code;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (std::find(shown.begin(), shown.end(), i) == shown.end()) {
      ++by_code[findings[i].code];
    }
  }
  Counts counts(by_code.begin(), by_code.end());
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

/// "and 9 more: 7 image-missing, 2 agent-silent; gpuskew findings lists them"
std::string more_line(const std::vector<FindingReply>& findings, const std::vector<std::size_t>& shown) {
  constexpr std::size_t kCodes = 3;
  const Counts by_code = codes_left(findings, shown);
  std::string line = "and " + std::to_string(findings.size() - shown.size()) + " more: ";
  for (std::size_t i = 0; i < std::min(kCodes, by_code.size()); ++i) {
    line += (i == 0 ? "" : ", ") + std::to_string(by_code[i].second) + " " + by_code[i].first;
  }
  return line + (by_code.size() > kCodes ? ", ..." : "") + "; gpuskew findings lists them\n";
}

std::string unknown_lines(const std::vector<NodeRow>& unknown, std::size_t shown, Time now, const Screen& screen) {
  std::string text = "\n";
  text += paint("unknown nodes:", Style::Unknown, screen) + "\n";
  for (std::size_t i = 0; i < std::min(shown, unknown.size()); ++i) {
    const NodeRow& node = unknown[i];
    text += prose_line(node.name + ": " + node.why + "; last heard " +
                           (node.last_heard ? ago_text(*node.last_heard, now) : std::string("never")),
                       screen);
  }
  if (unknown.size() > shown) {
    text += "  and " + std::to_string(unknown.size() - shown) + " more: gpuskew nodes --state unknown\n";
  }
  return text;
}

std::string empty_fleet(const StatusReply& status, const Screen& screen) {
  if (status.cluster) {
    return "0 nodes: this cluster has none\n";
  }
  return "0 nodes: no agent has reported to this aggregator yet\n" + matrix_line(status.matrix, screen) +
         "\nnext: on a GPU node, point gpuskew-agent at this aggregator (aggregator.address in agent.yaml), then\n"
         "  gpuskew status\n";
}

}  // namespace

std::string render_status(const StatusReply& status, const std::vector<FindingReply>& findings,
                          const std::vector<NodeRow>& unknown, const Screen& screen) {
  if (status.total == 0) {
    return empty_fleet(status, screen);
  }
  std::string text = nodes_line(status, screen) + findings_line(status, screen) + matrix_line(status.matrix, screen);
  if (status.history_error) {
    text += paint("history: can not be written: " + *status.history_error, Style::Warning, screen) + "\n";
  }
  if (status.cluster) {
    text += cluster_line(*status.cluster, screen);
  }
  const std::vector<std::size_t> shown = chosen_findings(findings);
  if (!shown.empty()) {
    text += "\n";
  }
  for (const std::size_t i : shown) {
    text += finding_lines(findings[i], status.now, screen);
  }
  if (findings.size() > shown.size()) {
    text += more_line(findings, shown);
  }
  if (!unknown.empty()) {
    // The line on the cluster takes the place of one.
    text += unknown_lines(unknown, kShownUnknown - (status.cluster ? 1 : 0), status.now, screen);
  }
  return text;
}

}  // namespace gpuskew
