#include "core/kube/cluster_node.h"

#include <gtest/gtest.h>

#include "tests/unit/core/kube/nodes.h"

namespace gpuskew {
namespace {

using testing::drop_label;
using testing::labelled_node;
using testing::set_label;
using Texts = std::vector<std::string>;

ClusterNode bare_node() {
  ClusterNode node;
  node.name = "cpu-1";
  node.ready = NodeReady::Yes;
  return node;
}

TEST(ClusterNode, TakesTheLabelsGpuskewReadsAndNoOthers) {
  for (const char* key : {"gpuskew.io/kernel", "gpuskew.io/anything", "nvidia.com/gpu.present",
                          "nvidia.com/cuda.driver.rev", "feature.node.kubernetes.io/kernel-version.full",
                          "feature.node.kubernetes.io/pci-10de.present", "nvidia.com/gpu-driver-upgrade-state"}) {
    EXPECT_TRUE(is_wanted_label(key)) << key;
  }
  for (const char* key : {"", "kubernetes.io/hostname", "nvidia.com/gpu.product", "gpuskew.iox/kernel",
                          "feature.node.kubernetes.io/pci-8086.present", "feature.node.kubernetes.io/pci-"}) {
    EXPECT_FALSE(is_wanted_label(key)) << key;
  }
}

TEST(ClusterNode, KnowsNvidiasPciLabelInEverySpelling) {
  for (const char* key : {"pci-10de.present", "pci-0302_10de.present", "pci-0300_10de.present", "pci-10de_2237.present",
                          "pci-0302_10de_2237.present"}) {
    ClusterNode node = bare_node();
    node.labels["feature.node.kubernetes.io/" + std::string(key)] = "true";
    EXPECT_EQ(gpu_sign(node), "label feature.node.kubernetes.io/" + std::string(key));
  }
}

TEST(ClusterNode, TakesNoOtherPciLabelForAGpu) {
  for (const char* key : {"pci-0302.present", "pci-0300_102b.present", "pci-0300_1d0f.present", "pci-0604_10de.present",
                          "pci-10de", "pci-_10de.present"}) {
    ClusterNode node = bare_node();
    node.labels["feature.node.kubernetes.io/" + std::string(key)] = "true";
    EXPECT_EQ(gpu_sign(node), std::nullopt) << key;
  }
}

TEST(ClusterNode, NamesTheSignOfAGpu) {
  EXPECT_EQ(gpu_sign(labelled_node()), "label nvidia.com/gpu.present=true");
  ClusterNode node = bare_node();
  EXPECT_EQ(gpu_sign(node), std::nullopt);
  node.gpu_resources["nvidia.com/gpu"] = {0, 0};
  EXPECT_EQ(gpu_sign(node), std::nullopt) << "none is no sign";
  node.gpu_resources["nvidia.com/mig-1g.5gb"] = {4, 0};
  EXPECT_EQ(gpu_sign(node), "resource nvidia.com/mig-1g.5gb");
  node = bare_node();
  set_label(node, kGpuPresentLabel, "false");
  EXPECT_EQ(gpu_sign(node), std::nullopt);
  set_label(node, kStateLabel, "no-gpu");
  EXPECT_EQ(gpu_sign(node), std::nullopt);
  set_label(node, kStateLabel, "broken");
  EXPECT_EQ(gpu_sign(node), "label gpuskew.io/state='broken'");
}

TEST(ClusterNode, AgreesWithItselfWhenLabelsAndKubeletDo) {
  EXPECT_EQ(contradictions(labelled_node()), Texts{});
  EXPECT_EQ(contradictions(bare_node()), Texts{});
}

TEST(ClusterNode, ComparesKernelsInTheFormOfALabel) {
  ClusterNode node = labelled_node();
  node.info.kernel_version = "5.14.0-427.33.1.el9_4.x86_64+rt";
  set_label(node, kNfdKernelLabel, "5.14.0-427.33.1.el9_4.x86_64_rt");
  EXPECT_EQ(contradictions(node), Texts{});
  set_label(node, kNfdKernelLabel, "5.14.0-427.33.1.el9_4.x86_64");
  EXPECT_EQ(contradictions(node).size(), 1U);
}

TEST(ClusterNode, ReportsALabelThatIsNotTheKubeletsKernel) {
  ClusterNode node = labelled_node();
  node.info.kernel_version = "5.15.0-122-generic";
  EXPECT_EQ(contradictions(node),
            Texts{"label feature.node.kubernetes.io/kernel-version.full says '5.15.0-119-generic', but "
                  "status.nodeInfo.kernelVersion says '5.15.0-122-generic': the kubelet's is the newer word, the label "
                  "may be stale"});
  node.info.kernel_version = "";
  EXPECT_EQ(contradictions(node), Texts{}) << "nothing said is no contradiction";
}

TEST(ClusterNode, ReportsTwoWritersOfLabelsThatDiffer) {
  ClusterNode node = labelled_node();
  set_label(node, kOsLabel, "ubuntu");
  set_label(node, kOsVersionLabel, "24.04");
  EXPECT_EQ(contradictions(node), Texts{"label gpuskew.io/os-version says '24.04', but "
                                        "feature.node.kubernetes.io/system-os_release.VERSION_ID says '22.04'"});
}

TEST(ClusterNode, ReportsAReadyNodeThatCanGiveNoGpuToAPod) {
  ClusterNode node = labelled_node();
  node.gpu_resources = {{"nvidia.com/gpu", {16, 0}}};
  ASSERT_TRUE(gpu_trouble(node));
  EXPECT_NE(gpu_trouble(node)->find("none of 16 GPU devices can be given to a pod"), std::string::npos);
  node.gpu_resources.clear();
  ASSERT_TRUE(gpu_trouble(node));
  EXPECT_NE(gpu_trouble(node)->find("offers no nvidia.com resource"), std::string::npos);
  node.gpu_resources = {{"nvidia.com/gpu", {4, 3}}};
  ASSERT_TRUE(gpu_trouble(node));
  EXPECT_NE(gpu_trouble(node)->find("1 of 4 GPU devices are unhealthy"), std::string::npos);
}

TEST(ClusterNode, MigAndSharedGpusAreNoTrouble) {
  ClusterNode node = labelled_node();
  node.gpu_resources = {{"nvidia.com/gpu", {0, 0}}, {"nvidia.com/mig-3g.20gb", {2, 2}}};
  EXPECT_EQ(gpu_trouble(node), std::nullopt);
  node.gpu_resources = {{"nvidia.com/gpu", {0, 0}}, {"nvidia.com/gpu.shared", {4, 4}}};
  EXPECT_EQ(gpu_trouble(node), std::nullopt);
}

TEST(ClusterNode, SaysNothingOfGpusThatItCanNotCountOrOfANodeThatIsNotReady) {
  ClusterNode node = labelled_node();
  node.gpu_resources = {{"nvidia.com/gpu", {std::nullopt, std::nullopt}}};
  EXPECT_EQ(gpu_trouble(node), std::nullopt);
  node.gpu_resources = {{"nvidia.com/gpu", {8, 0}}};
  node.ready = NodeReady::No;
  EXPECT_EQ(gpu_trouble(node), std::nullopt);
}

TEST(ClusterNode, TheUpgradeStateIsTheOperatorsWord) {
  ClusterNode node = labelled_node();
  EXPECT_EQ(upgrade_state(node), "none");
  set_label(node, kUpgradeStateLabel, "upgrade-done");
  EXPECT_EQ(upgrade_state(node), "upgrade-done");
}

}  // namespace
}  // namespace gpuskew
