#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/cluster_fleet.h"
#include "aggregator/cli/render.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/core/kube/nodes.h"

namespace gpuskew {
namespace {

NodeReply reply_of(const ClusterNode& node) {
  ClusterFleet fleet({}, std::nullopt);
  fleet.add(node, golden_now());
  const std::string body = fleet.answer(Question(Topic::Node, node.name), golden_now()).body;
  return node_reply(nlohmann::ordered_json::parse(body)).value();
}

TEST(RenderClusterFacts, SaysWhatTheClusterSaysWithItsSourceAndWhatItDoesNotTell) {
  ClusterNode node = testing::labelled_node();
  node.unschedulable = true;
  const ImageAnswer exists{ImageAnswer::Verdict::Exists, ""};
  const std::string text = render_explain(reply_of(node), exists, golden_now(), kPipe);
  for (const char* part : {
           "lab-node-1: unknown\nonly the Kubernetes API was asked",
           "kernel        5.15.0-119-generic (label feature.node.kubernetes.io/kernel-version.full of node "
           "lab-node-1)\n",
           "node          Ready, cordoned\n",
           "GPU devices   nvidia.com/gpu 8 of 8 allocatable\n",
           "driver image  550-5.15.0-119-generic-ubuntu22.04, exists\n",
           "not told      the loaded module",
       }) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(RenderClusterFacts, NotesWhatContradictsItself) {
  ClusterNode node = testing::labelled_node();
  node.info.kernel_version = "5.15.0-122-generic";
  const std::string text = render_explain(reply_of(node), {}, golden_now(), kPipe);
  EXPECT_NE(text.find("\nnote: label feature.node.kubernetes.io/kernel-version.full says"), std::string::npos) << text;
}

TEST(RenderClusterFacts, TheWideTableHasTheClustersWord) {
  ClusterFleet fleet({}, std::nullopt);
  ClusterNode node = testing::labelled_node();
  node.ready = NodeReady::No;
  node.unschedulable = true;
  fleet.add(node, golden_now());
  const auto nodes = nodes_reply(nlohmann::ordered_json::parse(fleet.answer(Topic::Nodes, golden_now()).body)).value();
  const std::string csv = nodes_table(nodes, TableForm::Csv, golden_now()).to_csv();
  EXPECT_NE(csv.find(",cluster,upgrade,contradictions,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\"NotReady, cordoned\""), std::string::npos) << csv;
}

}  // namespace
}  // namespace gpuskew
