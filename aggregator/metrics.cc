#include "aggregator/metrics.h"

#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregator/node_states.h"
#include "core/facts/each_fact.h"

namespace gpuskew {

namespace {

struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
};

// Every metric there is. A name, once released, keeps its meaning.
constexpr Metric kBuildInfo{"gpuskew_build_info", "gauge", "Version of this aggregator; always 1."};
constexpr Metric kNodes{"gpuskew_nodes", "gauge", "Nodes by state."};
constexpr Metric kNodeState{"gpuskew_node_state", "gauge", "State of each node; 1 for the state it is in."};
constexpr Metric kFinding{"gpuskew_finding", "gauge", "Open findings; 1 for each."};
constexpr Metric kFactUnknown{"gpuskew_fact_unknown", "gauge", "Facts that a node's agent could not read; 1 for each."};
constexpr Metric kFactsUnknown{"gpuskew_facts_unknown", "gauge",
                               "Nodes on which a fact is unknown, also because their agent is too old to report it."};
constexpr Metric kNextBoot{"gpuskew_nodes_next_boot", "gauge", "Nodes by what the next boot does to their GPU."};
constexpr Metric kLastHeard{"gpuskew_node_last_heard_timestamp_seconds", "gauge",
                            "When a node's agent last said anything, Unix time."};
constexpr Metric kConnected{"gpuskew_agents_connected", "gauge", "Agents connected now."};
constexpr Metric kReports{"gpuskew_reports_total", "counter", "Snapshots taken from agents."};
constexpr Metric kUnchanged{"gpuskew_unchanged_reports_total", "counter",
                            "Of them, those that said what the one before said."};
constexpr Metric kHeartbeats{"gpuskew_heartbeats_total", "counter", "Heartbeats taken from agents."};
constexpr Metric kRefused{"gpuskew_refused_total", "counter", "Agents' connections refused or closed, by reason."};
constexpr Metric kStoreErrors{"gpuskew_store_errors_total", "counter",
                              "Times the history database could not be written or read."};
constexpr Metric kStoreFailing{"gpuskew_store_failing", "gauge", "1 while the history database can not be written."};
constexpr Metric kStoreDropped{"gpuskew_store_dropped_transitions_total", "counter",
                               "Transitions lost because the history database failed for too long."};
constexpr Metric kMatrixRows{"gpuskew_matrix_rows", "gauge", "Driver images in the support matrix."};
constexpr Metric kMatrixError{"gpuskew_matrix_error", "gauge",
                              "1 while the support matrix can not be read; the last good one is used."};
constexpr Metric kLeader{"gpuskew_leader", "gauge", "1 on the replica that leads, and acts."};
constexpr Metric kFuseBlown{"gpuskew_acting_fuse_blown", "gauge",
                            "1 while no node is tainted because too many would be."};
constexpr Metric kActingTrouble{"gpuskew_acting_trouble", "gauge",
                                "1 while the cluster's nodes can not be watched or written to."};
constexpr Metric kActingDone{"gpuskew_acting_writes_total", "counter", "Writes to the cluster, by action."};
constexpr Metric kActingFailed{"gpuskew_acting_failed_writes_total", "counter",
                               "Writes to the cluster that failed, by action; they are tried again."};
constexpr Metric kResident{"process_resident_memory_bytes", "gauge", "Resident memory size in bytes."};
constexpr Metric kStarted{"process_start_time_seconds", "gauge", "Start time of the process, Unix time."};

class Exposition {
 public:
  void family(const Metric& metric) {
    name_ = metric.name;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", metric.name, metric.help, metric.name,
                   metric.type);
  }
  template <class Number>
  void sample(std::string_view labels, Number value) {
    if (labels.empty()) {
      fmt::format_to(std::back_inserter(text_), "{} {}\n", name_, value);
    } else {
      fmt::format_to(std::back_inserter(text_), "{}{{{}}} {}\n", name_, labels, value);
    }
  }
  template <class Number>
  void single(const Metric& metric, Number value) {
    family(metric);
    sample("", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, escaped_label(value));
}

std::string seconds(Time time) {
  constexpr std::int64_t kMs = 1000;
  const std::int64_t ms = to_unix_ms(time);
  return fmt::format("{}.{:03}", ms / kMs, ms % kMs);
}

/// In how many nodes each fact is unknown, by the facts' order.
using UnknownCounts = std::vector<std::pair<std::string_view, std::size_t>>;

void count_unknown(const Snapshot& snapshot, UnknownCounts& counts) {
  std::size_t at = 0;
  for_each_fact(snapshot, [&](std::string_view name, const auto& fact) {
    if (at == counts.size()) {
      counts.emplace_back(name, 0);
    }
    counts[at].second += fact.is_unknown() ? 1 : 0;
    ++at;
  });
}

void add_states(const Fleet& fleet, Exposition& out) {
  std::array<std::size_t, kNodeStates.size()> counts{};
  out.family(kNodeState);
  for (const auto& [name, record] : fleet.nodes()) {
    ++counts[static_cast<std::size_t>(record.verdict.state)];
    out.sample(label("node", name) + "," + label("state", to_string(record.verdict.state)), 1);
  }
  out.family(kNodes);
  for (NodeState state : kNodeStates) {
    out.sample(label("state", to_string(state)), counts[static_cast<std::size_t>(state)]);
  }
}

void add_nodes(const Fleet& fleet, Exposition& out) {
  out.family(kFinding);
  for (const auto& [name, record] : fleet.nodes()) {
    for (const Finding& finding : record.verdict.findings) {
      out.sample(label("node", name) + "," + label("code", to_string(finding.code)) + "," +
                     label("severity", to_string(finding.severity)),
                 1);
    }
  }
  out.family(kLastHeard);
  for (const auto& [name, record] : fleet.nodes()) {
    if (record.was_heard()) {
      out.sample(label("node", name), seconds(record.last_heard));
    }
  }
}

void add_unknown_facts(const Fleet& fleet, Exposition& out) {
  UnknownCounts counts;
  count_unknown(Snapshot{}, counts);  // each fact has its count, also while no node has reported
  for (auto& [name, count] : counts) {
    count = 0;
  }
  out.family(kFactUnknown);
  for (const auto& [node, record] : fleet.nodes()) {
    count_unknown(record.snapshot, counts);
    for_each_fact(record.snapshot, [&out, &node = node](std::string_view name, const auto& fact) {
      // What an agent is too old for is only counted: it would be twenty samples a node until the last is updated.
      if (fact.is_unknown() && is_reported(fact)) {
        out.sample(label("node", node) + "," + label("fact", name), 1);
      }
    });
  }
  out.family(kFactsUnknown);
  for (const auto& [name, count] : counts) {
    out.sample(label("fact", name), count);
  }
}

void add_next_boot(const Fleet& fleet, Exposition& out) {
  std::array<std::size_t, kNextBootOutcomes.size()> counts{};
  for (const auto& [name, record] : fleet.nodes()) {
    ++counts[static_cast<std::size_t>(record.verdict.next_boot.gpu)];
  }
  out.family(kNextBoot);
  for (NextBootGpu outcome : kNextBootOutcomes) {
    out.sample(label("outcome", to_string(outcome)), counts[static_cast<std::size_t>(outcome)]);
  }
}

void add_streams(const StreamCounts& streams, const ProcessFigures& process, Exposition& out) {
  out.single(kConnected, streams.connected);
  out.single(kReports, streams.reports);
  out.single(kUnchanged, streams.unchanged_reports);
  out.single(kHeartbeats, streams.heartbeats);
  out.family(kRefused);
  for (RefusedReason reason : kRefusedReasons) {
    const bool overloaded = reason == RefusedReason::Overloaded;
    out.sample(label("reason", to_string(reason)), streams.of(reason) + (overloaded ? process.refused_connections : 0));
  }
}

void add_replica(const ReplicaFigures& replica, Exposition& out) {
  out.single(kLeader, replica.leads ? 1 : 0);
  out.single(kFuseBlown, replica.fuse ? 1 : 0);
  out.single(kActingTrouble, replica.trouble ? 1 : 0);
  out.family(kActingDone);
  for (const ClusterWrite write : kClusterWrites) {
    out.sample(label("action", to_string(write)), replica.writes[static_cast<std::size_t>(write)].done);
  }
  out.family(kActingFailed);
  for (const ClusterWrite write : kClusterWrites) {
    out.sample(label("action", to_string(write)), replica.writes[static_cast<std::size_t>(write)].failed);
  }
}

}  // namespace

std::string escaped_label(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (char c : value) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\n':
        out += "\\n";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string metrics_text(const Fleet& fleet, const StreamCounts& streams, const StoreHealth& store,
                         const MatrixStatus& matrix, const ProcessFigures& process, const ReplicaFigures* replica) {
  Exposition out;
  out.family(kBuildInfo);
  out.sample(label("version", GPUSKEW_VERSION), 1);
  add_states(fleet, out);
  add_next_boot(fleet, out);
  add_nodes(fleet, out);
  add_unknown_facts(fleet, out);
  add_streams(streams, process, out);
  out.single(kStoreErrors, store.errors);
  out.single(kStoreFailing, store.error ? 1 : 0);
  out.single(kStoreDropped, store.dropped_transitions);
  out.single(kMatrixRows, matrix.rows);
  out.single(kMatrixError, matrix.error ? 1 : 0);
  if (replica != nullptr) {
    add_replica(*replica, out);
  }
  if (process.resident_bytes) {
    out.single(kResident, *process.resident_bytes);
  }
  out.single(kStarted, seconds(process.started));
  return out.take();
}

}  // namespace gpuskew
