#include "aggregator/cli/cluster_fleet.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/core/kube/nodes.h"

namespace gpuskew {
namespace {

using nlohmann::json;
using testing::labelled_node;
using testing::set_label;

constexpr Time kNow = from_unix_ms(1'796'054'737'000);

GivenMatrix matrix() {
  constexpr const char* kCsv = "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n";
  return GivenMatrix{"/m.csv", std::make_shared<const Matrix>(Matrix::parse_csv(kCsv).value())};
}

ClusterNode named(ClusterNode node, const std::string& name) {
  node.name = name;
  return node;
}

json answer_of(const ClusterFleet& fleet, const Question& question) {
  return json::parse(fleet.answer(question, kNow).body);
}

TEST(ClusterFleet, EveryNodeIsUnknownAndWasNeverHeard) {
  ClusterFleet fleet({}, std::nullopt);
  fleet.add(labelled_node(), kNow);
  const json node = answer_of(fleet, Topic::Nodes)["nodes"][0];
  EXPECT_EQ(node["state"], "unknown");
  EXPECT_TRUE(node["last_heard"].is_null());
  EXPECT_EQ(node["tag"], "550-5.15.0-119-generic-ubuntu22.04");
  EXPECT_EQ(node["gpus"]["state"], "unknown");
  EXPECT_EQ(node["cluster"]["ready"], "yes");
  EXPECT_EQ(node["cluster"]["gpu_resources"]["nvidia.com/gpu"]["allocatable"], 8);
  const json one = answer_of(fleet, Question(Topic::Node, "lab-node-1"));
  EXPECT_TRUE(one["last_good"].is_null()) << "a label is no driver that was seen loaded";
  EXPECT_EQ(answer_of(fleet, Topic::Findings)["findings"], json::array());
}

TEST(ClusterFleet, StatusCountsWhatTheClusterSays) {
  ClusterFleet fleet({}, std::nullopt);
  fleet.add(labelled_node(), kNow);
  ClusterNode odd = named(labelled_node(), "odd");
  odd.info.kernel_version = "6.1.0-fake";
  odd.unschedulable = true;
  odd.ready = NodeReady::No;
  fleet.add(odd, kNow);
  fleet.add(named({}, "web"), kNow);
  const json status = answer_of(fleet, Topic::Status);
  EXPECT_EQ(status["nodes"]["total"], 3);
  EXPECT_EQ(status["nodes"]["unknown"], 3);
  EXPECT_TRUE(status["history"].is_null());
  EXPECT_EQ(status["cluster"],
            (json{{"ready", 1}, {"not_ready", 2}, {"unschedulable", 1}, {"gpu_nodes", 2}, {"contradictory", 1}}));
}

TEST(ClusterFleet, AuditsNodesWithASignOfAGpu) {
  ClusterFleet fleet({}, matrix());
  fleet.add(labelled_node(), kNow);
  fleet.add(named({}, "web"), kNow);
  json audit = answer_of(fleet, Topic::Audit);
  EXPECT_EQ(audit["result"], "ok");
  EXPECT_EQ(audit["matrix"]["source"], "/m.csv");
  ASSERT_EQ(audit["nodes"].size(), 1u);
  EXPECT_EQ(audit["nodes"][0]["cluster"]["upgrade_state"], "none");
  ClusterNode unlabelled = named({}, "gpu-2");
  unlabelled.gpu_resources = {{"nvidia.com/gpu", {8, 8}}};
  fleet.add(unlabelled, kNow);
  audit = answer_of(fleet, Topic::Audit);
  EXPECT_EQ(audit["result"], "unknown") << "a GPU without labels has no known tag";
  EXPECT_EQ(answer_of(fleet, Question(Topic::Audit, "lab-node-1"))["result"], "ok");
}

TEST(ClusterFleet, ASameKernelOfTwoSystemsNeedsTwoImages) {
  ClusterFleet fleet({}, matrix());
  ClusterNode other = named(labelled_node(), "hwe");
  set_label(other, kNfdOsVersionLabel, "20.04");
  fleet.add(other, kNow);
  EXPECT_EQ(answer_of(fleet, Topic::Audit)["nodes"][0]["verdict"], "missing");
}

TEST(ClusterFleet, WithoutAMatrixAnAuditSaysWhatToGive) {
  ClusterFleet fleet({}, std::nullopt);
  fleet.add(labelled_node(), kNow);
  const HttpResponse response = fleet.answer(Topic::Audit, kNow);
  EXPECT_EQ(response.status, 409);
  EXPECT_NE(response.body.find("--matrix FILE"), std::string::npos) << response.body;
}

TEST(ClusterFleet, MakesTagsByTheRulesItWasGiven) {
  TagPolicy policy;
  policy.driver_part = DriverPart::Version;
  policy.operator_version = OperatorVersion::parse("26.3").value();
  ClusterFleet fleet(policy, std::nullopt);
  ClusterNode rocky = labelled_node();
  set_label(rocky, kNfdOsLabel, "rocky");
  set_label(rocky, kNfdOsVersionLabel, "9.4");
  fleet.add(rocky, kNow);
  EXPECT_EQ(answer_of(fleet, Question(Topic::Node, "lab-node-1"))["tag"]["text"],
            "550.90.07-5.15.0-119-generic-rocky9");
}

TEST(ClusterFleet, KeepsNoHistory) {
  const ClusterFleet fleet({}, std::nullopt);
  EXPECT_EQ(fleet.answer(Question(Topic::History, "n1"), kNow).status, 409);
}

TEST(ClusterFleet, IsEmptyAfterClear) {
  ClusterFleet fleet({}, matrix());
  fleet.add(labelled_node(), kNow);
  EXPECT_TRUE(fleet.has("lab-node-1"));
  fleet.clear();
  EXPECT_EQ(fleet.size(), 0u);
  EXPECT_EQ(answer_of(fleet, Topic::Status)["nodes"]["total"], 0);
  EXPECT_EQ(answer_of(fleet, Topic::Audit)["matrix"]["rows"], 1) << "the matrix stays";
}

}  // namespace
}  // namespace gpuskew
