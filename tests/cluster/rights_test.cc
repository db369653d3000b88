// What gpuskew's accounts may do at the API server, tried with their real tokens: what they need works, everything
// else is forbidden.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/deployment.h"

namespace gpuskew {
namespace {

using Attempt = std::vector<std::string>;

class Rights : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    cluster().make_node({.name = "gpu-node-1"});
    cluster().make_node({.name = "gpu-node-2"});
  }

  static std::string joined(const Attempt& attempt) {
    std::string text;
    for (const std::string& word : attempt) {
      text += word + " ";
    }
    return text;
  }

  static void expect_allowed(const Deployment& deployment, const std::string& token,
                             const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts) {
      // A role counts a moment after it was written.
      Outcome outcome;
      eventually(
          joined(attempt),
          [&] {
            outcome = deployment.as(token, attempt);
            return outcome.err.find("orbidden") == std::string::npos;
          },
          kClusterPatience);
      EXPECT_EQ(outcome.code, 0) << joined(attempt) << outcome.err;
    }
  }

  static void expect_forbidden(const Deployment& deployment, const std::string& token,
                               const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts) {
      const Outcome outcome = deployment.as(token, attempt);
      EXPECT_NE(outcome.code, 0) << joined(attempt) << outcome.out;
      EXPECT_NE(outcome.err.find("orbidden"), std::string::npos) << joined(attempt) << outcome.err;
    }
  }
};

constexpr const char* kStatus = "/api/v1/nodes/gpu-node-1/status";
constexpr const char* kStrategic = "strategic-merge-patch+json";
constexpr const char* kCondition =
    R"({"status":{"conditions":[{"type":"gpuskew.io/GPUReady","status":"False","reason":"Gone"}]}})";

/// What no account of ours may do.
const std::vector<Attempt> kNobodyMay = {
    {"get", "secrets", "-A"},
    {"get", "-n", "gpuskew", "secrets"},
    {"get", "configmaps", "-A"},
    {"get", "pods", "-A"},
    {"get", "-n", "gpuskew", "pods"},
    {"delete", "node", "gpu-node-2"},
    {"create", "--raw", "/api/v1/nodes", "-f", "/dev/null"},
    {"create", "-n", "gpuskew", "serviceaccount", "more"},
    {"create", "clusterrolebinding", "more", "--clusterrole=cluster-admin", "--user=nobody"},
    {"create", "--raw", "/api/v1/namespaces/gpuskew/serviceaccounts/gpuskew-aggregator/token", "-f", "/dev/null"},
    {"create", "-n", "gpuskew", "configmap", "more"},
    {"-n", "gpuskew", "run", "more", "--image=more"},
    {"get", "namespaces"},
    {"get", "clusterroles"},
    {"get", "--raw", "/api/v1/nodes/gpu-node-1/proxy/metrics"},
    {"get", "nodes", "--as=system:admin"},
};

TEST_F(Rights, AnAgentHasNoneUnlessLabelsAreChosen) {
  const Deployment deployment(cluster(), {});
  deployment.install_rights();
  const std::string token = deployment.token(kAgentAccount);

  expect_forbidden(deployment, token, kNobodyMay);
  expect_forbidden(deployment, token,
                   {{"get", "node", "gpu-node-1"},
                    {"get", "nodes"},
                    {"patch", "node", "gpu-node-1", "--type=merge", "-p", "{}"},
                    {"create", "--raw", "/apis/authentication.k8s.io/v1/tokenreviews", "-f", "/dev/null"}});
}

TEST_F(Rights, AnAgentThatLabelsReadsAndPatchesNodesAndNothingElse) {
  const Deployment deployment(cluster(), {"labels"});
  deployment.install_rights();
  const std::string token = deployment.token(kAgentAccount);

  expect_allowed(deployment, token, {{"get", "node", "gpu-node-1"}});
  EXPECT_EQ(deployment.patch(token, kStatus, kStrategic, kCondition), "403");
  expect_forbidden(deployment, token, kNobodyMay);
  const Attempt apply_new = {"apply", "--server-side", "--field-manager=gpuskew-agent", "-f"};
  const std::filesystem::path made = deployment.directory() / "new-node.json";
  write_file(made,
             R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"new-node","labels":{"gpuskew.io/os":"x"}}})");
  Attempt create = apply_new;
  create.push_back(made.string());
  expect_forbidden(deployment, token,
                   {{"get", "nodes"},
                    {"get", "nodes", "--watch"},
                    {"patch", "-n", "gpuskew", "serviceaccount", "gpuskew-agent", "--type=merge", "-p", "{}"},
                    {"patch", "namespace", "gpuskew", "--type=merge", "-p", "{}"},
                    create,
                    {"create", "--raw", "/apis/authentication.k8s.io/v1/tokenreviews", "-f", "/dev/null"}});
}

TEST_F(Rights, AnAggregatorReadsNodesAndAsksWhoSomebodyIs) {
  const Deployment deployment(cluster(), {});
  deployment.install_rights();
  cluster().kubectl({"-n", "gpuskew", "delete", "lease", "gpuskew-aggregator", "--ignore-not-found"});
  deployment.put_pod("agent-1", kAgentAccount, "gpu-node-1");
  const std::string token = deployment.token(kAggregatorAccount);
  const std::filesystem::path review = deployment.directory() / "review.json";
  write_file(review, R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"none"}})");
  const std::filesystem::path access = deployment.directory() / "access.json";
  write_file(access, R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",)"
                     R"("spec":{"user":"x","nonResourceAttributes":{"path":"/metrics","verb":"get"}}})");
  const std::filesystem::path lease = deployment.directory() / "lease.json";
  write_file(lease,
             R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"gpuskew-aggregator"}})");

  expect_allowed(deployment, token,
                 {{"get", "nodes"},
                  {"get", "node", "gpu-node-1"},
                  {"get", "-n", "gpuskew", "pod", "agent-1"},
                  {"create", "--raw", "/apis/authentication.k8s.io/v1/tokenreviews", "-f", review.string()},
                  {"create", "--raw", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "-f", access.string()},
                  {"create", "--raw", "/apis/coordination.k8s.io/v1/namespaces/gpuskew/leases", "-f", lease.string()},
                  {"get", "-n", "gpuskew", "lease", "gpuskew-aggregator"}});
  EXPECT_EQ(deployment.patch(token, kStatus, kStrategic, kCondition), "403");
  expect_forbidden(deployment, token, kNobodyMay);
  expect_forbidden(deployment, token,
                   {{"patch", "node", "gpu-node-1", "--type=merge", "-p", "{}"},
                    {"get", "-n", "default", "pod", "any"},
                    {"get", "-n", "gpuskew", "lease", "another"},
                    {"get", "-n", "gpuskew", "leases"},
                    {"delete", "-n", "gpuskew", "lease", "gpuskew-aggregator"},
                    {"get", "-n", "kube-system", "lease", "kube-scheduler"},
                    {"create", "--raw", "/api/v1/namespaces/default/events", "-f", "/dev/null"},
                    {"delete", "-n", "gpuskew", "pod", "agent-1"}});
}

TEST_F(Rights, AnAggregatorThatActsMarksNodesAndTellsEvents) {
  const Deployment deployment(cluster(), {"acting"});
  deployment.install_rights();
  const std::string token = deployment.token(kAggregatorAccount);
  const std::filesystem::path event = deployment.directory() / "event.json";
  write_file(event, R"({"apiVersion":"v1","kind":"Event","metadata":{"generateName":"gpu-"},"reason":"GPUGone",)"
                    R"("involvedObject":{"kind":"Node","name":"gpu-node-1"}})");
  const Attempt elsewhere{"create", "--raw", "/api/v1/namespaces/kube-system/events", "-f", event.string()};

  expect_allowed(deployment, token,
                 {{"patch", "node", "gpu-node-1", "--type=merge", "-p",
                   R"({"spec":{"taints":[{"key":"gpuskew.io/gpu-gone","effect":"NoSchedule"}]}})"},
                  {"create", "--raw", "/api/v1/namespaces/default/events", "-f", event.string()}});
  EXPECT_EQ(deployment.patch(token, kStatus, kStrategic, kCondition), "200");
  expect_forbidden(deployment, token, kNobodyMay);
  expect_forbidden(deployment, token,
                   {elsewhere, {"get", "events", "-A"}, {"delete", "-n", "default", "events", "--all"}});
}

}  // namespace
}  // namespace gpuskew
