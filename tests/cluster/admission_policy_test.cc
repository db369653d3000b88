// The admission policy holds an agent to its own Node and to our labels: each of its rules is tried to be broken with
// the token of a real pod. Only where the server has such policies; deploy_test.cc has what the others say.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/label_names.h"
#include "tests/cluster/deployment.h"

namespace gpuskew {
namespace {

constexpr int kFirstMinorWithPolicies = 30;

class AdmissionPolicy : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (cluster().minor() < kFirstMinorWithPolicies) {
      GTEST_SKIP() << "admission policies are of 1.30, this is " << cluster().version();
    }
    const std::map<std::string, std::string> labels{{"team", "vision"}, {"nvidia.com/gpu.count", "8"}};
    cluster().make_node({.name = "gpu-node-1", .labels = labels});
    cluster().make_node({.name = "gpu-node-2"});
    deployment_ = std::make_unique<Deployment>(cluster(), std::vector<std::string>{"labels", "admission-policy"});
    deployment_->install_rights();
    deployment_->put_pod("agent-1", kAgentAccount, "gpu-node-1");
    token_ = deployment_->token(kAgentAccount, "", "agent-1");
    // A policy counts a moment after it was written. Tried without a change: the second of two equal patches is none.
    eventually(
        "the policy counts",
        [&] { return patch("gpu-node-1", R"({"spec":{"unschedulable":true}})", {"--dry-run=server"}).code != 0; },
        kClusterPatience);
  }

  Outcome patch(const std::string& node, const std::string& body, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"patch", "node", node, "--type=merge", "-p", body};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return deployment_->as(token_, arguments);
  }

  void expect_taken(const std::string& body) const {
    const Outcome outcome = patch("gpu-node-1", body);
    EXPECT_EQ(outcome.code, 0) << body << ": " << outcome.err;
  }

  static void expect_denied(const Outcome& outcome, const std::string& why) {
    EXPECT_NE(outcome.code, 0) << outcome.out;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  }

  static std::string label(std::string_view key, const std::string& value) {
    return R"({"metadata":{"labels":{")" + std::string(key) + "\":" + value + "}}}";
  }

  std::unique_ptr<Deployment> deployment_;
  std::string token_;
};

TEST_F(AdmissionPolicy, AnAgentSetsChangesAndRemovesOurKeysOfItsNode) {
  for (const std::string_view key :
       {kKernelLabel, kStateLabel, kGpuPresentLabel, kCudaDriverMajorLabel, kCudaDriverMinorLabel, kCudaDriverRevLabel,
        kCudaDriverVersionLabel, kNfdKernelLabel, kNfdOsLabel, kNfdOsVersionLabel}) {
    expect_taken(label(key, "\"one\""));
    expect_taken(label(key, "\"two\""));
    expect_taken(label(key, "null"));
  }
}

TEST_F(AdmissionPolicy, AnAgentAppliesOurKeysServerSide) {
  const std::filesystem::path file = deployment_->directory() / "labels.json";
  write_file(
      file,
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-node-1","labels":{"gpuskew.io/os":"ubuntu"}}})");

  const Outcome outcome =
      deployment_->as(token_, {"apply", "--server-side", "--field-manager=gpuskew-agent", "-f", file.string()});

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(cluster().get({"node", "gpu-node-1"}).at("metadata").at("labels").at("gpuskew.io/os"), "ubuntu");
}

TEST_F(AdmissionPolicy, NoLabelOfOthersIsAddedChangedOrRemoved) {
  for (const std::string& body :
       {label("node-role.kubernetes.io/control-plane", "\"\""), label("team", "\"other\""), label("team", "null"),
        label(kGpuCountLabel, "\"9\""), label(kUpgradeStateLabel, "\"upgrade-done\""), label("gpuskew.io", "\"x\""),
        label("x.gpuskew.io/y", "\"x\""), label("kubernetes.io/hostname", "\"gpu-node-2\"")}) {
    expect_denied(patch("gpu-node-1", body), "only labels beneath gpuskew.io/");
  }
  expect_denied(patch("gpu-node-1", R"({"metadata":{"labels":{"gpuskew.io/os":"ubuntu","team":"other"}}})"),
                "only labels beneath gpuskew.io/");
  expect_denied(patch("gpu-node-1", R"({"metadata":{"labels":null}})"), "only labels beneath gpuskew.io/");
}

TEST_F(AdmissionPolicy, NothingElseOfTheNodeIsChanged) {
  for (const char* body : {R"({"spec":{"unschedulable":true}})",
                           R"({"spec":{"taints":[{"key":"gpuskew.io/gpu-gone","effect":"NoSchedule"}]}})",
                           R"({"spec":{"providerID":"cloud://other"}})"}) {
    expect_denied(patch("gpu-node-1", body), "nothing in a Node's spec");
  }
  for (const char* body :
       {R"({"metadata":{"annotations":{"gpuskew.io/note":"x"}}})", R"({"metadata":{"finalizers":["gpuskew.io/x"]}})",
        R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gpu-node-2","uid":"u"}]}})"}) {
    expect_denied(patch("gpu-node-1", body), "not its annotations, finalizers or owners");
  }
}

TEST_F(AdmissionPolicy, NoOtherNodeIsChanged) {
  expect_denied(patch("gpu-node-2", label(kStateLabel, "\"ok\"")), "only the Node that its pod runs on");
}

TEST_F(AdmissionPolicy, ATokenThatIsBoundToNoPodChangesNothing) {
  token_ = deployment_->token(kAgentAccount);

  expect_denied(patch("gpu-node-1", label(kStateLabel, "\"ok\"")), "only the Node that its pod runs on");
}

TEST_F(AdmissionPolicy, RightsGivenByMistakeAreHeldToo) {
  cluster().kubectl({"create", "clusterrolebinding", "gpuskew-mistake", "--clusterrole=cluster-admin",
                     "--serviceaccount=gpuskew:gpuskew-agent"});
  cluster().kubectl({"label", "clusterrolebinding", "gpuskew-mistake", "app.kubernetes.io/part-of=gpuskew"});
  const std::string status = R"({"status":{"capacity":{"nvidia.com/gpu":"0"}}})";

  expect_denied(patch("gpu-node-1", status, {"--subresource=status"}), "nor change its status");
  expect_denied(deployment_->as(token_, {"delete", "node", "gpu-node-1"}), "may not create, delete or connect");
  const std::filesystem::path file = deployment_->directory() / "new-node.json";
  write_file(file, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"new-node"}})");
  expect_denied(deployment_->as(token_, {"create", "-f", file.string()}), "may not create, delete or connect");
  cluster().kubectl({"delete", "clusterrolebinding", "gpuskew-mistake"});
}

TEST_F(AdmissionPolicy, OtherAccountsAreLeftAlone) {
  token_ = deployment_->token(kAggregatorAccount);
  cluster().kubectl({"create", "clusterrolebinding", "gpuskew-operator", "--clusterrole=cluster-admin",
                     "--serviceaccount=gpuskew:gpuskew-aggregator"});
  cluster().kubectl({"label", "clusterrolebinding", "gpuskew-operator", "app.kubernetes.io/part-of=gpuskew"});

  expect_taken(label("team", "\"other\""));
  expect_taken(R"({"spec":{"unschedulable":true}})");
  cluster().kubectl({"delete", "clusterrolebinding", "gpuskew-operator"});
}

}  // namespace
}  // namespace gpuskew
