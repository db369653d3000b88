#pragma once

// Answers as text for people. Pure: the same reply, time and screen give the same text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/cli/reply.h"
#include "aggregator/cli/screen.h"
#include "aggregator/cli/table.h"
#include "core/time.h"

namespace gpuskew {

/// "2h14m ago"
std::string ago_text(Time then, Time now);

std::string joined(const std::vector<std::string>& words, std::string_view between);
/// A fact in a table cell: its value, "none" or "unknown".
std::string short_text(const Fact<std::string>& fact);
/// A fact in a sentence: its value, `none`, or "unknown, because ...".
std::string long_text(const Fact<std::string>& fact, const std::string& none);

/// At most a screen of 24 lines. `findings` are the worst first; `unknown` are the nodes of that state.
std::string render_status(const StatusReply& status, const std::vector<FindingReply>& findings,
                          const std::vector<NodeRow>& unknown, const Screen& screen);

/// Whether the image of a node's tag exists.
struct ImageAnswer {
  enum class Verdict : std::uint8_t { Exists, Missing, Unknown, NotNeeded };
  Verdict verdict = Verdict::Unknown;
  std::string why;  ///< of Unknown
};

/// The block of facts that render_explain ends with.
std::string render_node_facts(const NodeReply& node, const ImageAnswer& image, Time now, const Screen& screen);
/// The same block for a node that only the Kubernetes API speaks of.
std::string render_cluster_facts(const NodeReply& node, const ImageAnswer& image, const Screen& screen);
/// "550-..., exists"
std::string image_text(const NodeReply& node, const ImageAnswer& image);
/// "Ready, cordoned"
std::string cluster_state_text(const ClusterReply& cluster);
std::string render_explain(const NodeReply& node, const ImageAnswer& image, Time now, const Screen& screen);

/// How a table's cells are worded: ages and few columns, ages and all columns, or times and all columns.
enum class TableForm : std::uint8_t { Narrow, Wide, Csv };

Table nodes_table(const std::vector<NodeRow>& nodes, TableForm form, Time now);
Table findings_table(const std::vector<FindingReply>& findings, TableForm form, Time now);
Table history_table(const std::vector<TransitionReply>& transitions, TableForm form, Time now);
Table audit_table(const AuditReply& audit);
Table forecast_table(const ForecastReply& forecast);

}  // namespace gpuskew
