#include "aggregator/kube/node_json.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/judge.h"
#include "core/kube/cluster_snapshot.h"
#include "core/label_names.h"

namespace gpuskew {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

Result<ClusterNode> node_of(const std::string& text) {
  return cluster_node_from_json(Json::parse(text));
}

std::string case_text(const std::string& folder, const std::string& file) {
  std::ifstream in(std::string(GPUSKEW_FIXTURES) + "/cases/" + folder + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

ClusterNode case_node(const std::string& folder) {
  return node_of(case_text(folder, "node.json")).value();
}

TEST(NodeJson, ReadsANode) {
  const auto node = node_of(R"({
    "metadata": {"name": "n1", "uid": "u1", "labels": {"nvidia.com/gpu.present": "true", "kubernetes.io/os": "linux"}},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {
      "conditions": [{"type": "DiskPressure", "status": "True"},
                     {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-30T16:05:37Z"}],
      "nodeInfo": {"kernelVersion": "5.15.0-119-generic", "osImage": "Ubuntu 22.04.4 LTS", "architecture": "amd64",
                   "bootID": "b1", "kubeletVersion": "v1.30.1", "operatingSystem": "linux"},
      "capacity": {"cpu": "64", "nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "7"}}})");
  ClusterNode wanted;
  wanted.name = "n1";
  wanted.uid = "u1";
  wanted.labels = {{"nvidia.com/gpu.present", "true"}};
  wanted.info = {"5.15.0-119-generic", "Ubuntu 22.04.4 LTS", "amd64", "b1", "v1.30.1", "linux"};
  wanted.ready = NodeReady::No;
  wanted.ready_since = from_unix_ms(1'796'054'737'000);
  wanted.unschedulable = true;
  wanted.taints = {{"k", "v", "NoSchedule"}};
  wanted.gpu_resources = {{"nvidia.com/gpu", {8, 7}}};
  ASSERT_TRUE(node);
  EXPECT_EQ(*node, wanted);
}

TEST(NodeJson, ReadsANodeThatHasJustBeenMade) {
  const auto node = node_of(R"({"metadata": {"name": "n1"}})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->ready, NodeReady::Unknown);
  EXPECT_FALSE(node->unschedulable);
}

TEST(NodeJson, RefusesAnObjectWithoutAName) {
  for (const char* text :
       {"null", "[]", "{}", R"({"metadata": {"name": ""}})", R"({"metadata": {"name": 5}})", R"({"metadata": "n1"})"}) {
    const auto node = node_of(text);
    ASSERT_FALSE(node) << text;
    EXPECT_EQ(node.error().code, ErrorCode::Malformed);
  }
}

TEST(NodeJson, AFieldOfAnotherTypeIsNotThere) {
  const auto node = node_of(R"({
    "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.present": true, "gpuskew.io/kernel": ["5"]}},
    "spec": {"unschedulable": "yes", "taints": [5, null, {"key": 7}]},
    "status": {"conditions": [{"type": "Ready", "status": true}, 5], "nodeInfo": [], "capacity": "8",
               "allocatable": {"nvidia.com/gpu": 8}}})");
  ASSERT_TRUE(node);
  EXPECT_TRUE(node->labels.empty());
  EXPECT_FALSE(node->unschedulable);
  EXPECT_EQ(node->ready, NodeReady::Unknown);
  EXPECT_EQ(node->info, ClusterNodeInfo{});
  EXPECT_EQ(node->gpu_resources.at("nvidia.com/gpu").allocatable, std::nullopt);
}

TEST(NodeJson, CountsDevicesAsTheApiWritesThem) {
  const auto count = [](const std::string& quantity) {
    return node_of(R"({"metadata": {"name": "n"}, "status": {"capacity": {"nvidia.com/gpu": ")" + quantity + R"("}}})")
        ->gpu_resources.at("nvidia.com/gpu")
        .capacity;
  };
  EXPECT_EQ(count("0"), 0U);
  EXPECT_EQ(count("16"), 16U);
  EXPECT_EQ(count("2k"), 2000U);
  for (const char* odd : {"", "-1", "8.5", "8Gi", "k", "99999999999999999999", "2000k", "1000001"}) {
    EXPECT_EQ(count(odd), std::nullopt) << odd;
  }
}

TEST(NodeJson, BoundsWhatANodeMayHave) {
  Json object = {{"metadata", {{"name", "n1"}}}};
  for (std::size_t i = 0; i < 1000; ++i) {
    object["spec"]["taints"].push_back({{"key", "k" + std::to_string(i)}});
    object["status"]["capacity"]["nvidia.com/r" + std::to_string(i)] = "1";
  }
  const auto node = cluster_node_from_json(object);
  EXPECT_EQ(node->taints.size(), ClusterNode::kMaxTaints);
  EXPECT_EQ(node->gpu_resources.size(), ClusterNode::kMaxResources);
}

TEST(NodeCases, Case061ReadyWithCapacity16AndAllocatable0) {
  const auto trouble = gpu_trouble(case_node("061-allocatable-zero-capacity-16"));
  ASSERT_TRUE(trouble);
  EXPECT_NE(trouble->find("none of 16"), std::string::npos) << *trouble;
}

TEST(NodeCases, Case065OneOfFourGpusIsUnhealthy) {
  const auto trouble = gpu_trouble(case_node("065-gpu-lost-blocks-whole-node"));
  ASSERT_TRUE(trouble);
  EXPECT_NE(trouble->find("1 of 4"), std::string::npos) << *trouble;
}

TEST(NodeCases, HealthyNodesContradictNothing) {
  for (const char* folder : {"066-allocatable-is-not-free", "068-mig-mixed-gpu-zero-healthy",
                             "070-gpu-count-label-is-physical", "073-timeslicing-renamed", "088-cordoned-by-user"}) {
    EXPECT_EQ(contradictions(case_node(folder)), Texts{}) << folder;
  }
}

TEST(NodeCases, NodesThatOfferNoGpuAreToldAndNotTakenForHealthy) {
  for (const char* folder : {"076-stale-labels-after-uninstall", "085-pre-installed-label-stale",
                             "086-paused-for-driver-upgrade", "091-tainted-no-daemonset"}) {
    const ClusterNode node = case_node(folder);
    const auto trouble = gpu_trouble(node);
    ASSERT_TRUE(trouble) << folder;
    EXPECT_NE(trouble->find("offers no nvidia.com resource"), std::string::npos) << folder;
    EXPECT_EQ(verdict_without_agent(node).state, NodeState::Unknown) << folder;
  }
}

TEST(NodeCases, Case078TheKubeletBeatsTheLabelOfAnOlderBuild) {
  const ClusterNode node = case_node("078-ostree-label-stale-vs-nodeinfo");
  const Texts notes = contradictions(node);
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes[0].find("label feature.node.kubernetes.io/system-os_release.OSTREE_VERSION says "
                          "'416.94.202407030122-0', but status.nodeInfo.osImage"),
            0U)
      << notes[0];
  const Snapshot snapshot = snapshot_from_cluster_node(node, Time{});
  EXPECT_EQ(snapshot.kernel->text(), "5.14.0-427.33.1.el9_4.x86_64+rt");
  EXPECT_FALSE(node_tag(snapshot, {}, {})) << "no label tells the driver";
}

ClusterNode node_with_labels(const std::string& lines) {
  Json object = {{"metadata", {{"name", "n1"}}}};
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find('=');
    object["metadata"]["labels"][line.substr(0, equals)] = line.substr(equals + 1);
  }
  return cluster_node_from_json(object).value();
}

TEST(NodeCases, Cases080And090PciLabelsInEverySpelling) {
  EXPECT_TRUE(gpu_sign(node_with_labels(case_text("080-pci-label-two-spellings", "node_labels.txt"))));
  const std::string folder = "090-pci-label-more-spellings";
  EXPECT_TRUE(gpu_sign(node_with_labels(case_text(folder, "node-a.labels.txt"))));
  EXPECT_FALSE(gpu_sign(node_with_labels(case_text(folder, "node-b.labels.txt")))) << "a class tells no vendor";
  EXPECT_TRUE(gpu_sign(node_with_labels(case_text(folder, "node-c.labels.txt"))));
}

}  // namespace
}  // namespace gpuskew
