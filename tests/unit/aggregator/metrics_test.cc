#include "aggregator/metrics.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

/// Reads the exposition as strictly as its format demands, and fails the test where it is not.
std::map<std::string, std::string> parse(const std::string& text) {
  static const std::regex kHelp("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\\S.*)");
  static const std::regex kType("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (gauge|counter)");
  static const std::regex kSample(
      "([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{[a-z_]+=\"(?:[^\"\\\\\n]|\\\\[\\\\\"n])*\"(?:,[a-z_]+=\"(?:[^\"\\\\\n]|\\\\["
      "\\\\\"n])*\")*\\})? "
      "([0-9]+(?:\\.[0-9]+)?)");
  std::map<std::string, std::string> samples;
  std::set<std::string> families;
  std::string family;
  EXPECT_EQ(text.back(), '\n');
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      family = match[1];
      EXPECT_TRUE(families.insert(family).second) << "a family in two pieces: " << line;
    } else if (std::regex_match(line, match, kType)) {
      EXPECT_EQ(match[1], family);
    } else if (std::regex_match(line, match, kSample)) {
      EXPECT_EQ(match[1], family) << line;
      EXPECT_TRUE(samples.emplace(match[1].str() + match[2].str(), match[3]).second) << "twice: " << line;
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }
  return samples;
}

std::map<std::string, std::string> metrics_of(const Rig& rig, const StreamCounts& streams = {},
                                              const MatrixStatus& matrix = {}, const ProcessFigures& process = {}) {
  return parse(metrics_text(rig.fleet, streams, rig.writer.health(), matrix, process));
}

TEST(Metrics, AnEmptyFleetStillHasEveryTotal) {
  Rig rig;
  const auto samples = metrics_of(rig);
  EXPECT_EQ(samples.at("gpuskew_build_info{version=\"" GPUSKEW_VERSION "\"}"), "1");
  EXPECT_EQ(samples.at("gpuskew_nodes{state=\"broken\"}"), "0");
  EXPECT_EQ(samples.at("gpuskew_refused_total{reason=\"identity\"}"), "0");
  EXPECT_EQ(samples.at("gpuskew_store_errors_total"), "0");
}

TEST(Metrics, ShowNodesStatesAndFindings) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(healthy_snapshot("gpu-2"));
  rig.report(bumped_snapshot("gpu-2"));
  const auto samples = metrics_of(rig);
  EXPECT_EQ(samples.at("gpuskew_nodes{state=\"ok\"}"), "1");
  EXPECT_EQ(samples.at("gpuskew_node_state{node=\"gpu-2\",state=\"broken\"}"), "1");
  EXPECT_EQ(samples.at("gpuskew_finding{node=\"gpu-2\",code=\"gpu-gone-after-kernel-bump\",severity=\"critical\"}"),
            "1");
  EXPECT_EQ(samples.at("gpuskew_node_last_heard_timestamp_seconds{node=\"gpu-1\"}"), "1796054737.123");
}

TEST(Metrics, AnUnknownFactIsVisible) {
  Rig rig;
  Snapshot snapshot = healthy_snapshot("gpu-1");
  snapshot.kernel = Fact<KernelRelease>::unknown(Error{ErrorCode::Denied, "denied"}, "/proc/sys/kernel/osrelease");
  rig.report(snapshot);
  const auto samples = metrics_of(rig);
  EXPECT_EQ(samples.at("gpuskew_fact_unknown{node=\"gpu-1\",fact=\"kernel\"}"), "1");
  EXPECT_EQ(samples.count("gpuskew_fact_unknown{node=\"gpu-1\",fact=\"os\"}"), 0u);
}

TEST(Metrics, CountTheNodesOnWhichEachFactIsUnknown) {
  Rig rig;
  EXPECT_EQ(metrics_of(rig).at("gpuskew_facts_unknown{fact=\"kernel_log\"}"), "0");
  Snapshot snapshot = healthy_snapshot("gpu-1");
  snapshot.dkms = Fact<std::vector<DkmsEntry>>::unknown(Error{ErrorCode::Denied, "denied"}, "/var/lib/dkms");
  rig.report(snapshot);
  rig.report(healthy_snapshot("gpu-2"));
  const auto samples = metrics_of(rig);
  EXPECT_EQ(samples.at("gpuskew_facts_unknown{fact=\"kernel\"}"), "0");
  EXPECT_EQ(samples.at("gpuskew_facts_unknown{fact=\"dkms\"}"), "2");
  EXPECT_EQ(samples.at("gpuskew_fact_unknown{node=\"gpu-1\",fact=\"dkms\"}"), "1");
  EXPECT_EQ(samples.count("gpuskew_fact_unknown{node=\"gpu-2\",fact=\"dkms\"}"), 0u)
      << "an agent that is too old for a fact has no sample of its own";
}

TEST(Metrics, CountNodesByWhatTheNextBootDoes) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  const auto samples = metrics_of(rig);
  std::size_t nodes = 0;
  for (const char* outcome : {"keeps", "loses", "cannot-tell", "not-applicable"}) {
    nodes += std::stoul(samples.at(std::string("gpuskew_nodes_next_boot{outcome=\"") + outcome + "\"}"));
  }
  EXPECT_EQ(nodes, 1u);
}

TEST(Metrics, ShowStreamsStoreMatrixAndProcess) {
  Rig rig;
  StreamCounts streams;
  streams.connected = 3;
  streams.reports = 10;
  streams.heartbeats = 20;
  streams.of(RefusedReason::Identity) = 4;
  streams.of(RefusedReason::Overloaded) = 1;
  const auto samples = metrics_of(rig, streams, MatrixStatus{true, 7, "m.csv", "broken"}, {4096, kNow, 5});
  EXPECT_EQ(samples.at("gpuskew_agents_connected"), "3");
  EXPECT_EQ(samples.at("gpuskew_reports_total"), "10");
  EXPECT_EQ(samples.at("gpuskew_heartbeats_total"), "20");
  EXPECT_EQ(samples.at("gpuskew_refused_total{reason=\"identity\"}"), "4");
  EXPECT_EQ(samples.at("gpuskew_refused_total{reason=\"overloaded\"}"), "6");
  EXPECT_EQ(samples.at("gpuskew_matrix_rows"), "7");
  EXPECT_EQ(samples.at("gpuskew_matrix_error"), "1");
  EXPECT_EQ(samples.at("process_resident_memory_bytes"), "4096");
  EXPECT_EQ(samples.at("process_start_time_seconds"), "1796054737.123");
}

TEST(Metrics, AMemorySizeThatIsNotKnownHasNoSample) {
  Rig rig;
  EXPECT_EQ(metrics_of(rig).count("process_resident_memory_bytes"), 0u);
}

TEST(Metrics, LabelsAreEscaped) {
  EXPECT_EQ(escaped_label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
}

TEST(Metrics, SayWhoLeadsAndWhatItDidOnlyInACluster) {
  Rig rig;
  EXPECT_FALSE(metrics_of(rig).contains("gpuskew_leader"));
  ReplicaFigures replica;
  replica.leads = true;
  replica.fuse = "3 of 4 nodes";
  replica.writes[static_cast<std::size_t>(ClusterWrite::AddTaint)] = {2, 1};
  const auto samples = parse(metrics_text(rig.fleet, {}, rig.writer.health(), {}, {}, &replica));
  EXPECT_EQ(samples.at("gpuskew_leader"), "1");
  EXPECT_EQ(samples.at("gpuskew_acting_fuse_blown"), "1");
  EXPECT_EQ(samples.at("gpuskew_acting_trouble"), "0");
  EXPECT_EQ(samples.at("gpuskew_acting_writes_total{action=\"add-taint\"}"), "2");
  EXPECT_EQ(samples.at("gpuskew_acting_failed_writes_total{action=\"add-taint\"}"), "1");
  EXPECT_EQ(samples.at("gpuskew_acting_writes_total{action=\"event\"}"), "0");
}

TEST(Metrics, ANodeThatWasNeverHeardHasNoTimeOfIt) {
  Rig rig;
  rig.fleet.put_unheard(plain_snapshot("gpu-1"), Verdict{});
  const auto samples = metrics_of(rig);
  EXPECT_FALSE(samples.contains("gpuskew_node_last_heard_timestamp_seconds{node=\"gpu-1\"}"));
  EXPECT_EQ(samples.at("gpuskew_node_state{node=\"gpu-1\",state=\"unknown\"}"), "1");
}

}  // namespace
}  // namespace gpuskew
