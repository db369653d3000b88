// What gpuskew counts on in the control planes that it is tested against, and in the tools of these tests themselves.

#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/cluster.h"

namespace gpuskew {
namespace {

/// "group/version" of every group but the core one.
std::set<std::string> served_by(const Cluster& cluster) {
  std::set<std::string> names;
  const nlohmann::json reply = cluster.get_path("/apis");
  for (const nlohmann::json& group : reply.at("groups")) {
    for (const nlohmann::json& version : group.at("versions")) {
      names.insert(version.at("groupVersion"));
    }
  }
  return names;
}

std::string ready_of(const Cluster& cluster, const std::string& node) {
  const nlohmann::json object = cluster.get({"node", node});
  for (const nlohmann::json& condition : object.at("status").at("conditions")) {
    if (condition.at("type") == "Ready") {
      return condition.at("status");
    }
  }
  return "";
}

/// Has the API server refuse ConfigMaps of the namespace whose `word` is not "good".
void forbid_bad_words(const Cluster& cluster, const std::string& space) {
  const std::string name = space + ".words.gpuskew.io";
  cluster.put({{"apiVersion", "admissionregistration.k8s.io/v1"},
               {"kind", "ValidatingAdmissionPolicy"},
               {"metadata", {{"name", name}}},
               {"spec",
                {{"failurePolicy", "Fail"},
                 {"matchConstraints",
                  {{"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", space}}}}},
                   {"resourceRules", nlohmann::json::array({{{"apiGroups", {""}},
                                                             {"apiVersions", {"v1"}},
                                                             {"operations", {"CREATE", "UPDATE"}},
                                                             {"resources", {"configmaps"}}}})}}},
                 {"validations", nlohmann::json::array({{{"expression", "object.?data.?word.orValue('') == 'good'"},
                                                         {"message", "a bad word"}}})}}}});
  cluster.put({{"apiVersion", "admissionregistration.k8s.io/v1"},
               {"kind", "ValidatingAdmissionPolicyBinding"},
               {"metadata", {{"name", name}}},
               {"spec", {{"policyName", name}, {"validationActions", {"Deny"}}}}});
}

/// Of a running pod's bound token, what the server itself says when it is asked whose it is.
nlohmann::json review_of_pod_token(const Cluster& cluster, const std::string& space, const std::string& pod) {
  const std::string account = "/api/v1/namespaces/" + space + "/serviceaccounts/default/token";
  const nlohmann::json bound = {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", pod}};
  const nlohmann::json issued =
      cluster.post_path(account, {{"apiVersion", "authentication.k8s.io/v1"},
                                  {"kind", "TokenRequest"},
                                  {"spec", {{"audiences", {"gpuskew-aggregator"}}, {"boundObjectRef", bound}}}});
  return cluster.post_path(
      "/apis/authentication.k8s.io/v1/tokenreviews",
      {{"apiVersion", "authentication.k8s.io/v1"},
       {"kind", "TokenReview"},
       {"spec", {{"token", issued.at("status").at("token")}, {"audiences", {"gpuskew-aggregator"}}}}});
}

void run_pod(const Cluster& cluster, const std::string& space, const std::string& pod) {
  eventually(
      "the namespace has its account",
      [&] {
        return cluster.try_kubectl({"get", "-n", space, "serviceaccount", "default"}).code == 0;
      },
      kClusterPatience);
  cluster.kubectl({"run", "-n", space, pod, "--image", "trainer:1"});
  eventually(
      "the pod runs",
      [&] {
        return cluster.get({"-n", space, "pod", pod}).at("status").value("phase", "") == "Running";
      },
      kClusterPatience);
}

using ControlPlane = ClusterTest;

TEST_F(ControlPlane, ServesTheGroupsThatItsVersionHas) {
  const std::set<std::string> served = served_by(cluster());
  const bool current = cluster().minor() >= 34;
  for (const char* name : {"apps/v1", "coordination.k8s.io/v1", "node.k8s.io/v1", "authentication.k8s.io/v1",
                           "authorization.k8s.io/v1", "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1"}) {
    EXPECT_TRUE(served.contains(name)) << name;
  }
  EXPECT_EQ(served.contains("policy/v1"), current);
  EXPECT_EQ(served.contains("policy/v1beta1"), !current);
  EXPECT_EQ(served.contains("resource.k8s.io/v1"), current);
}

TEST_F(ControlPlane, HasAdmissionPoliciesWhereItsVersionHasThem) {
  std::set<std::string> kinds;
  const nlohmann::json reply = cluster().get_path("/apis/admissionregistration.k8s.io/v1");
  for (const nlohmann::json& resource : reply.at("resources")) {
    kinds.insert(resource.at("kind"));
  }
  EXPECT_EQ(kinds.contains("ValidatingAdmissionPolicy"), cluster().minor() >= 30);
  EXPECT_EQ(kinds.contains("ValidatingAdmissionPolicyBinding"), cluster().minor() >= 30);
}

TEST_F(ControlPlane, KeepsANodeAsItWasMade) {
  NodeShape shape;
  shape.name = "made-node";
  shape.labels = {{"nvidia.com/gpu.present", "true"}};
  shape.kernel = "6.8.0-45-generic";
  cluster().make_node(shape);
  shape.kernel = "6.8.0-52-generic";
  shape.gpus = 4;
  cluster().make_node(shape);

  const nlohmann::json node = cluster().get({"node", "made-node"});

  EXPECT_EQ(node.at("metadata").at("labels").at("nvidia.com/gpu.present"), "true");
  EXPECT_EQ(node.at("status").at("nodeInfo").at("kernelVersion"), "6.8.0-52-generic");
  EXPECT_EQ(node.at("status").at("capacity").at("nvidia.com/gpu"), "4");
}

TEST_F(ControlPlane, GivesEveryTestAClusterWithoutNodes) {
  EXPECT_TRUE(cluster().get({"nodes"}).at("items").empty());
}

TEST_F(ControlPlane, KeepsItsAddressAndDataWhenTheApiServerIsKilled) {
  cluster().make_node({.name = "kept-node"});

  cluster().stop_api_server(Cluster::End::killed);
  EXPECT_NE(cluster().try_kubectl({"get", "--raw", "/readyz"}).code, 0);
  cluster().start_api_server();

  EXPECT_EQ(cluster().get({"node", "kept-node"}).at("metadata").at("name"), "kept-node");
}

TEST_F(ControlPlane, RefusesTheViewerEverything) {
  const Outcome outcome = cluster().try_kubectl({"--kubeconfig", cluster().viewer_token().string(), "get", "nodes"});

  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("Forbidden"), std::string::npos) << outcome.err;
}

TEST_F(ControlPlane, RunsPodsOnFakeNodes) {
  if (!cluster().has_controllers()) {
    GTEST_SKIP() << "no controller-manager and scheduler here";
  }
  const Process nodes = cluster().fake_nodes({"--count", "2", "--prefix", "fake-"});
  eventually(
      "fake-1 is Ready", [&] { return ready_of(cluster(), "fake-1") == "True"; }, kClusterPatience);
  const std::string space = make_namespace();

  run_pod(cluster(), space, "trainer");

  cluster().kubectl({"delete", "-n", space, "pod", "trainer", "--timeout=30s"});
}

TEST_F(ControlPlane, DeniesWhatAnAdmissionPolicyForbids) {
  const std::string space = make_namespace();
  if (cluster().minor() < 30) {
    EXPECT_THROW(forbid_bad_words(cluster(), space), std::runtime_error);
    return;
  }
  forbid_bad_words(cluster(), space);

  // A policy counts a moment after it was written.
  Outcome denied;
  eventually(
      "a bad word is denied",
      [&] {
        denied = cluster().try_kubectl(
            {"create", "-n", space, "configmap", "bad", "--from-literal=word=bad", "--dry-run=server"});
        return denied.code != 0;
      },
      kClusterPatience);

  EXPECT_NE(denied.err.find("a bad word"), std::string::npos) << denied.err;
  cluster().kubectl({"create", "-n", space, "configmap", "good", "--from-literal=word=good", "--dry-run=server"});
}

TEST_F(ControlPlane, SaysWhosePodATokenIsAndItsNodeWhereItsVersionDoes) {
  if (!cluster().has_controllers()) {
    GTEST_SKIP() << "no controller-manager and scheduler here";
  }
  const Process nodes = cluster().fake_nodes({"--count", "1", "--prefix", "fake-"});
  const std::string space = make_namespace();
  run_pod(cluster(), space, "agent");

  const nlohmann::json status = review_of_pod_token(cluster(), space, "agent").at("status");

  ASSERT_TRUE(status.value("authenticated", false)) << status;
  EXPECT_EQ(status.at("audiences"), nlohmann::json::array({"gpuskew-aggregator"}));
  const nlohmann::json& extra = status.at("user").at("extra");
  EXPECT_EQ(extra.at("authentication.kubernetes.io/pod-name"), nlohmann::json::array({"agent"}));
  if (cluster().minor() >= 32) {
    EXPECT_EQ(extra.at("authentication.kubernetes.io/node-name"), nlohmann::json::array({"fake-0"}));
  } else {
    EXPECT_FALSE(extra.contains("authentication.kubernetes.io/node-name"));
  }
}

}  // namespace
}  // namespace gpuskew
