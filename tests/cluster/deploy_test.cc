// deploy/kubernetes on real servers: both take every object, and the configurations in it are good.

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/deployment.h"
#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

using Deploy = ClusterTest;

/// What the server has, beside those that need a newer one or cert-manager.
std::vector<std::string> components_for(const Cluster& cluster) {
  std::vector<std::string> components{"labels", "acting"};
  if (cluster.minor() >= 30) {
    components.insert(components.end(), {"admission-policy", "disruption-budget"});
  }
  return components;
}

std::set<std::string> names_of(const Cluster& cluster, const std::string& kinds) {
  std::set<std::string> names;
  const nlohmann::json found = cluster.get({kinds, "--all-namespaces", "--selector=app.kubernetes.io/part-of=gpuskew"});
  for (const nlohmann::json& item : found.at("items")) {
    names.insert(item.at("kind").get<std::string>() + " " + item.at("metadata").at("name").get<std::string>());
  }
  return names;
}

TEST_F(Deploy, OneApplyInstallsTheBaseAndNothingThatWasNotChosen) {
  const Deployment deployment(cluster(), {});

  deployment.install();

  EXPECT_EQ(names_of(cluster(), "clusterrolebindings"), std::set<std::string>{"ClusterRoleBinding gpuskew-aggregator"});
  EXPECT_EQ(names_of(cluster(), "rolebindings"), std::set<std::string>{"RoleBinding gpuskew-aggregator"});
  EXPECT_EQ(names_of(cluster(), "services"),
            (std::set<std::string>{"Service gpuskew-agents", "Service gpuskew-aggregator"}));
  EXPECT_EQ(cluster().get({"-n", "gpuskew", "service", "gpuskew-agents"}).at("spec").at("clusterIP"), "None");
}

TEST_F(Deploy, EveryObjectIsTakenByServerSideApply) {
  const Deployment deployment(cluster(), components_for(cluster()));
  deployment.install();

  const Outcome dry = cluster().try_kubectl({"apply", "--server-side", "--dry-run=server", "--field-manager=kubectl",
                                             "--force-conflicts", "-k", deployment.directory().string()});

  EXPECT_EQ(dry.code, 0) << dry.err;
  for (const char* object : {"daemonset.apps/gpuskew-agent", "deployment.apps/gpuskew-aggregator",
                             "clusterrole.rbac.authorization.k8s.io/gpuskew-agent"}) {
    EXPECT_NE(dry.out.find(object), std::string::npos) << dry.out;
  }
}

TEST_F(Deploy, AnAgentComesToEveryNodeWhateverItsTaints) {
  if (!cluster().has_controllers()) {
    GTEST_SKIP() << "no controller-manager here";
  }
  cluster().make_node({.name = "gpu-node-1"});
  cluster().make_node({.name = "gpu-node-2"});
  cluster().kubectl({"taint", "node", "gpu-node-2", "gpuskew.io/gpu-gone=true:NoSchedule", "own=x:NoExecute"});
  cluster().kubectl({"cordon", "gpu-node-2"});
  const Deployment deployment(cluster(), {});
  deployment.install();
  cluster().kubectl({"apply", "-k", deployment.directory().string()});

  eventually(
      "an agent for each node",
      [&] {
        const nlohmann::json daemons = cluster().get({"-n", "gpuskew", "daemonset", "gpuskew-agent"});
        return daemons.at("status").value("currentNumberScheduled", 0) == 2;
      },
      kClusterPatience);

  deployment.install();  // takes the workloads away again
}

TEST_F(Deploy, AnAgentsPodHasOnlyTheRightsThatAreWrittenDown) {
  const Deployment deployment(cluster(), {});
  deployment.install();
  const std::string applied =
      cluster().kubectl({"apply", "--dry-run=server", "-k", deployment.directory().string(), "-o", "json"});
  const nlohmann::json list = nlohmann::json::parse(applied);
  nlohmann::json pod;
  for (const nlohmann::json& item : list.at("items")) {
    if (item.at("kind") == "DaemonSet") {
      pod = item.at("spec").at("template").at("spec");
    }
  }
  ASSERT_TRUE(pod.is_object());

  const nlohmann::json& container = pod.at("containers").at(0);
  EXPECT_EQ(container.at("securityContext").at("capabilities"),
            (nlohmann::json{{"drop", {"ALL"}}, {"add", {"DAC_READ_SEARCH", "SYS_PTRACE"}}}));
  EXPECT_EQ(container.at("securityContext").at("allowPrivilegeEscalation"), false);
  EXPECT_EQ(container.at("securityContext").at("readOnlyRootFilesystem"), true);
  EXPECT_EQ(pod.at("automountServiceAccountToken"), false);
  EXPECT_EQ(pod.at("priorityClassName"), "system-node-critical");
  for (const char* shared : {"hostNetwork", "hostPID", "hostIPC"}) {
    EXPECT_FALSE(pod.value(shared, false)) << shared;
  }
  std::set<std::string> writable;
  for (const nlohmann::json& mount : container.at("volumeMounts")) {
    if (!mount.value("readOnly", false)) {
      writable.insert(mount.at("mountPath"));
    }
  }
  EXPECT_EQ(writable, std::set<std::string>{"/var/lib/gpuskew-agent"});
}

TEST_F(Deploy, AServerWithoutAdmissionPoliciesSaysSo) {
  const Deployment deployment(cluster(), {"admission-policy"});

  const Outcome applied = cluster().try_kubectl({"apply", "-k", deployment.directory().string(), "--dry-run=server"});

  EXPECT_EQ(applied.code == 0, cluster().minor() >= 30) << applied.err;
  if (cluster().minor() < 30) {
    EXPECT_NE(applied.err.find("ValidatingAdmissionPolicy"), std::string::npos) << applied.err;
  }
}

}  // namespace
}  // namespace gpuskew
