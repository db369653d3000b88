// What gpuskew counts on in the control planes that it is tested against, and in the tools of these tests themselves.

#include <set>
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
  const Process nodes = cluster().fake_nodes({"--count", "2", "--prefix", "fake-"});
  eventually(
      "fake-1 is Ready", [&] { return ready_of(cluster(), "fake-1") == "True"; }, kClusterPatience);
  const std::string space = make_namespace();
  eventually(
      "the namespace has its account",
      [&] {
        return cluster().try_kubectl({"get", "-n", space, "serviceaccount", "default"}).code == 0;
      },
      kClusterPatience);

  cluster().kubectl({"run", "-n", space, "trainer", "--image", "trainer:1"});

  eventually(
      "the pod runs",
      [&] {
        return cluster().kubectl({"get", "-n", space, "pod", "trainer", "-o", "jsonpath={.status.phase}"}) == "Running";
      },
      kClusterPatience);
  cluster().kubectl({"delete", "-n", space, "pod", "trainer", "--timeout=30s"});
}

}  // namespace
}  // namespace gpuskew
