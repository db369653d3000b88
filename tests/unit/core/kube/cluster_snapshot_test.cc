#include "core/kube/cluster_snapshot.h"

#include <gtest/gtest.h>

#include "core/facts/each_fact.h"
#include "tests/unit/core/kube/nodes.h"

namespace gpuskew {
namespace {

using testing::drop_label;
using testing::labelled_node;
using testing::set_label;

constexpr Time kNow = from_unix_ms(1'796'054'737'000);

Result<Tag> tag_of(const ClusterNode& node, const TagPolicy& policy = {}) {
  return node_tag(snapshot_from_cluster_node(node, kNow), {}, policy);
}

std::string tag_text(const ClusterNode& node) {
  const auto tag = tag_of(node);
  return tag ? tag->text : "error: " + tag.error().what;
}

TEST(ClusterSnapshot, MakesTheTagOfStandardLabels) {
  EXPECT_EQ(tag_text(labelled_node()), "550-5.15.0-119-generic-ubuntu22.04");
  TagPolicy policy;
  policy.driver_part = DriverPart::Version;
  EXPECT_EQ(tag_of(labelled_node(), policy)->text, "550.90.07-5.15.0-119-generic-ubuntu22.04");
}

TEST(ClusterSnapshot, TakesGpuskewsOwnLabelsFirst) {
  ClusterNode node = labelled_node();
  set_label(node, kKernelLabel, "6.8.0-45-generic");
  set_label(node, kOsLabel, "ubuntu");
  set_label(node, kOsVersionLabel, "24.04");
  set_label(node, kDriverVersionLabel, "535.183.06");
  EXPECT_EQ(tag_text(node), "535-6.8.0-45-generic-ubuntu24.04");
}

TEST(ClusterSnapshot, TakesTheLabelsKernelWhereTheKubeletSaysAnother) {
  ClusterNode node = labelled_node();
  node.info.kernel_version = "6.1.0-fake";
  EXPECT_EQ(tag_text(node), "550-5.15.0-119-generic-ubuntu22.04");
}

TEST(ClusterSnapshot, TakesTheKubeletsKernelWithoutALabel) {
  ClusterNode node = labelled_node();
  drop_label(node, kNfdKernelLabel);
  node.info.kernel_version = "6.6.72+";
  const Snapshot snapshot = snapshot_from_cluster_node(node, kNow);
  EXPECT_EQ(snapshot.kernel->text(), "6.6.72+");
  EXPECT_EQ(snapshot.kernel.source(), "status.nodeInfo.kernelVersion of node lab-node-1");
  EXPECT_EQ(tag_text(node), "550-6.6.72-ubuntu22.04");
}

TEST(ClusterSnapshot, KeepsTheRawKernelWhereLabelAndKubeletAgree) {
  ClusterNode node = labelled_node();
  node.info.kernel_version = "5.14.0-427.33.1.el9_4.x86_64+rt";
  set_label(node, kNfdKernelLabel, "5.14.0-427.33.1.el9_4.x86_64_rt");
  EXPECT_EQ(snapshot_from_cluster_node(node, kNow).kernel->text(), "5.14.0-427.33.1.el9_4.x86_64+rt");
}

TEST(ClusterSnapshot, NamesTheNodeAndTheMissingLabel) {
  ClusterNode node = labelled_node();
  drop_label(node, kNfdOsVersionLabel);
  EXPECT_NE(tag_text(node).find("node lab-node-1 has no label "
                                "feature.node.kubernetes.io/system-os_release.VERSION_ID"),
            std::string::npos)
      << tag_text(node);
  node = labelled_node();
  drop_label(node, kCudaDriverRevLabel);
  EXPECT_NE(tag_text(node).find("node lab-node-1 has no label nvidia.com/cuda.driver.rev"), std::string::npos)
      << tag_text(node);
  node = labelled_node();
  drop_label(node, kNfdKernelLabel);
  node.info.kernel_version = "";
  EXPECT_NE(tag_text(node).find("node lab-node-1 has no label feature.node.kubernetes.io/kernel-version.full"),
            std::string::npos)
      << tag_text(node);
}

TEST(ClusterSnapshot, AnEmptyLabelIsAMissingOneButForTheRevision) {
  ClusterNode node = labelled_node();
  set_label(node, kNfdOsLabel, "");
  EXPECT_NE(tag_text(node).find("system-os_release.ID"), std::string::npos) << tag_text(node);
  node = labelled_node();
  set_label(node, kCudaDriverRevLabel, "");
  EXPECT_EQ(snapshot_from_cluster_node(node, kNow).loaded_driver->text(), "550.90");
}

TEST(ClusterSnapshot, TakesTheFullDriverVersionAndRefusesTwoThatDiffer) {
  ClusterNode node = labelled_node();
  for (const auto key : {kCudaDriverMajorLabel, kCudaDriverMinorLabel, kCudaDriverRevLabel}) {
    drop_label(node, key);
  }
  set_label(node, kCudaDriverVersionLabel, "535.183.06");
  EXPECT_EQ(tag_text(node), "535-5.15.0-119-generic-ubuntu22.04");
  node = labelled_node();
  set_label(node, kCudaDriverVersionLabel, "535.183.06");
  EXPECT_EQ(tag_text(node).find("error: "), 0U) << tag_text(node);
  EXPECT_NE(tag_text(node).find("says 535.183.06, but nvidia.com/cuda.driver.{major,minor,rev} say 550.90.07"),
            std::string::npos)
      << tag_text(node);
}

TEST(ClusterSnapshot, FillsNoGapInOurOsWithAnotherSystemsVersion) {
  ClusterNode node = labelled_node();
  set_label(node, kOsLabel, "arch");
  EXPECT_NE(tag_text(node).find("name different systems"), std::string::npos) << tag_text(node);
}

TEST(ClusterSnapshot, OddLabelsAreErrorsAndNeverATag) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string_view, std::string>>{{kCudaDriverMajorLabel, "five"},
                                                             {kCudaDriverMajorLabel, "550.90"},
                                                             {kDriverVersionLabel, "550"},
                                                             {kNfdKernelLabel, "generic"},
                                                             {kNfdKernelLabel, "5.15 generic"},
                                                             {kNfdKernelLabel, std::string(200, '5')},
                                                             {kNfdOsLabel, "Ubuntu"},
                                                             {kNfdOsVersionLabel, "22/04"},
                                                             {kNfdOsVersionLabel, std::string(300, '2')}}) {
    ClusterNode node = labelled_node();
    node.info.kernel_version = "";
    set_label(node, key, value);
    EXPECT_FALSE(tag_of(node)) << key << "=" << value;
  }
}

TEST(ClusterSnapshot, EverythingElseIsUnknownWithTheReason) {
  const Snapshot snapshot = snapshot_from_cluster_node(labelled_node(), kNow);
  std::size_t known = 0;
  for_each_fact(snapshot, [&known](const std::string& name, const auto& fact) {
    if (fact.is_known()) {
      ++known;
      return;
    }
    ASSERT_TRUE(fact.is_unknown()) << name;
    EXPECT_EQ(fact.why().what, kOnlyTheApi) << name;
  });
  EXPECT_EQ(known, 5U) << "kernel, OS, driver, architecture, boot id";
  EXPECT_EQ(snapshot.architecture.value(), "x86_64");
}

TEST(ClusterSnapshot, TakesTheNextKernelOfOurLabel) {
  ClusterNode node = labelled_node();
  set_label(node, kNextKernelLabel, "5.15.0-122-generic");
  EXPECT_EQ(snapshot_from_cluster_node(node, kNow).next_kernel->release.text(), "5.15.0-122-generic");
}

TEST(ClusterSnapshot, NeverSaysThatTheGpuIsWell) {
  ClusterNode node = labelled_node();
  set_label(node, kStateLabel, "ok");
  Verdict verdict = verdict_without_agent(node);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_EQ(verdict.why, std::string(kOnlyTheApi) + "; label gpuskew.io/state says 'ok'");
  EXPECT_EQ(verdict.next_boot.gpu, NextBootGpu::CannotTell);
  node.gpu_resources = {{"nvidia.com/gpu", {16, 0}}};
  verdict = verdict_without_agent(node);
  EXPECT_EQ(verdict.state, NodeState::Unknown) << "a plugin that restarts looks the same";
  EXPECT_NE(verdict.why.find("none of 16 GPU devices"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
