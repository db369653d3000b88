// The client against a real API server of each supported version.

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/kube/access.h"
#include "runtime/kube/client.h"
#include "runtime/kube/watch.h"
#include "tests/cluster/cluster.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/event_loop.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

nlohmann::json config_map(const std::string& name_space, const std::string& name, const std::string& value) {
  nlohmann::json object;
  object["apiVersion"] = "v1";
  object["kind"] = "ConfigMap";
  object["metadata"]["name"] = name;
  object["metadata"]["namespace"] = name_space;
  object["data"]["key"] = value;
  return object;
}

class KubeClientOnCluster : public ClusterTest {
 protected:
  std::unique_ptr<KubeClient> client_of(const KubeAccess& access) {
    auto client = KubeClient::open(io_.get_executor(), access);
    EXPECT_TRUE(client) << client.error().what;
    return std::move(*client);
  }
  static KubeAccess access_of(const std::filesystem::path& kubeconfig) {
    auto access = kubeconfig_access({kubeconfig});
    EXPECT_TRUE(access) << access.error().what;
    return *access;
  }
  std::unique_ptr<KubeClient> admin() { return client_of(access_of(cluster().admin())); }

  Result<KubeListResult> list(KubeClient& client, KubeListRequest request, std::vector<std::string>& names,
                              const std::function<void()>& at_item = {}) {
    return run_to_end(io_,
                      client.list(
                          std::move(request),
                          [&](nlohmann::json&& item) {
                            names.push_back(item["metadata"]["name"]);
                            if (at_item) {
                              at_item();
                            }
                          },
                          [&names] { names.clear(); }),
                      kClusterPatience);
  }

  asio::io_context io_;
};

TEST_F(KubeClientOnCluster, LogsInByCertificateAndByToken) {
  for (const auto& kubeconfig : {cluster().admin(), cluster().admin_token()}) {
    const auto client = client_of(access_of(kubeconfig));
    const auto version = run_to_end(io_, client->get("/version"));
    ASSERT_TRUE(version) << version.error().what;
    EXPECT_EQ(version->at("gitVersion"), cluster().version());
  }
}

TEST_F(KubeClientOnCluster, ListsInPagesBuiltInKindsAndCustomOnes) {
  const auto client = admin();
  const std::string space = make_namespace();
  for (int number = 0; number < 7; ++number) {
    cluster().put(config_map(space, "map-" + std::to_string(number), "x"));
  }
  KubeListRequest request("/api/v1/namespaces/" + space + "/configmaps?fieldSelector=metadata.name!=kube-root-ca.crt");
  request.page_size = 3;
  std::vector<std::string> names;
  const auto listed = list(*client, request, names);
  ASSERT_TRUE(listed) << listed.error().what;
  EXPECT_EQ(names.size(), 7U);
  EXPECT_GE(listed->pages, 3U);

  KubeListRequest groups("/apis/apiregistration.k8s.io/v1/apiservices");
  groups.page_size = 5;
  names.clear();
  const auto services = list(*client, groups, names);
  ASSERT_TRUE(services) << services.error().what;
  EXPECT_EQ(services->items, names.size());
  EXPECT_GT(services->pages, 1U);
}

TEST_F(KubeClientOnCluster, ListsOnThroughARestartOfTheServer) {
  const auto client = admin();
  KubeListRequest request("/apis/rbac.authorization.k8s.io/v1/clusterroles");
  request.page_size = 10;
  std::vector<std::string> names;
  bool restarted = false;
  const auto listed = list(*client, request, names, [&] {
    if (names.size() == 15 && !restarted) {
      restarted = true;
      cluster().restart_api_server(Cluster::End::killed);
    }
  });
  ASSERT_TRUE(listed) << listed.error().what;
  EXPECT_TRUE(restarted);
  EXPECT_EQ(listed->items, names.size());
  EXPECT_GT(names.size(), 40U);
}

/// What a watch of one namespace's config maps has told.
class Seen {
 public:
  KubeWatchEvents events() {
    KubeWatchEvents events;
    events.list_began = [this] { objects.clear(); };
    events.list_ended = [this] { ++lists; };
    events.changed = [this](nlohmann::json&& item) {
      has_managed_fields = has_managed_fields || item["metadata"].contains("managedFields");
      objects[item["metadata"]["name"]] = item["data"]["key"];
    };
    events.deleted = [this](nlohmann::json&& item) { objects.erase(item["metadata"]["name"]); };
    events.troubled = [this](const Error& error) { troubles.push_back(error); };
    events.recovered = [this] { ++recoveries; };
    return events;
  }

  std::map<std::string, std::string> objects;
  std::vector<Error> troubles;
  int lists = 0;
  int recoveries = 0;
  bool has_managed_fields = false;
};

KubeListRequest own_maps(const std::string& space) {
  return KubeListRequest("/api/v1/namespaces/" + space + "/configmaps?fieldSelector=metadata.name!=kube-root-ca.crt");
}

TEST_F(KubeClientOnCluster, WatchesWhatIsAddedChangedAndDeleted) {
  using Objects = std::map<std::string, std::string>;
  const auto client = admin();
  const std::string space = make_namespace();
  cluster().put(config_map(space, "a", "1"));
  Seen seen;
  KubeWatch watch(*client, own_maps(space), seen.events());
  spawn(io_, watch.run());
  run_until(io_, [&] { return seen.objects == Objects{{"a", "1"}} && seen.lists == 1; });
  cluster().put(config_map(space, "b", "1"));
  run_until(io_, [&] { return seen.objects == Objects{{"a", "1"}, {"b", "1"}}; });
  cluster().put(config_map(space, "a", "2"));
  run_until(io_, [&] { return seen.objects == Objects{{"a", "2"}, {"b", "1"}}; });
  cluster().kubectl({"-n", space, "delete", "configmap", "b"});
  run_until(io_, [&] { return seen.objects == Objects{{"a", "2"}}; });
  EXPECT_EQ(seen.lists, 1);
  EXPECT_FALSE(seen.has_managed_fields);
  EXPECT_TRUE(seen.troubles.empty());
}

TEST_F(KubeClientOnCluster, WatchesOnAfterARestartWithoutListingAnew) {
  const auto client = admin();
  const std::string space = make_namespace();
  cluster().put(config_map(space, "a", "1"));
  Seen seen;
  KubeWatch watch(*client, own_maps(space), seen.events());
  spawn(io_, watch.run());
  run_until(io_, [&] { return seen.lists == 1; });
  cluster().stop_api_server(Cluster::End::killed);
  run_until(io_, [&] { return !seen.troubles.empty(); });
  EXPECT_EQ(seen.troubles.front().code, ErrorCode::Unreachable);
  cluster().start_api_server();
  cluster().put(config_map(space, "a", "2"));
  run_until(
      io_, [&] { return seen.recoveries == 1 && seen.objects["a"] == "2"; }, kClusterPatience);
  EXPECT_EQ(seen.troubles.size(), 1U);
}

TEST_F(KubeClientOnCluster, NamesTheOwnerOfAFieldItMayNotTake) {
  const auto client = admin();
  cluster().make_node(NodeShape{"owned"});
  nlohmann::json labels;
  labels["apiVersion"] = "v1";
  labels["kind"] = "Node";
  labels["metadata"]["name"] = "owned";
  labels["metadata"]["labels"]["nvidia.com/gpu.present"] = "true";
  const auto theirs = run_to_end(io_, client->apply("/api/v1/nodes/owned", labels, "gpu-feature-discovery", false));
  ASSERT_TRUE(theirs) << theirs.error().what;
  EXPECT_TRUE(theirs->conflicts.empty());
  labels["metadata"]["labels"]["nvidia.com/gpu.present"] = "false";
  const auto ours = run_to_end(io_, client->apply("/api/v1/nodes/owned", labels, "gpuskew-agent", false));
  ASSERT_TRUE(ours) << ours.error().what;
  EXPECT_EQ(ours->conflicts,
            (std::vector<KubeConflict>{{"gpu-feature-discovery", ".metadata.labels.nvidia.com/gpu.present"}}));
  const auto forced = run_to_end(io_, client->apply("/api/v1/nodes/owned", labels, "gpuskew-agent", true));
  ASSERT_TRUE(forced) << forced.error().what;
  EXPECT_EQ(forced->object["metadata"]["labels"]["nvidia.com/gpu.present"], "false");
}

TEST_F(KubeClientOnCluster, SaysWhatAUserMayNotDo) {
  const auto client = client_of(access_of(cluster().viewer_token()));
  std::vector<std::string> names;
  const auto listed = list(*client, KubeListRequest("/api/v1/nodes"), names);
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, ErrorCode::Denied);
  EXPECT_NE(listed.error().what.find("User \"viewer\" cannot list resource \"nodes\""), std::string::npos)
      << listed.error().what;
}

TEST_F(KubeClientOnCluster, SaysWhatIsWrongWithAnAccess) {
  KubeAccess access = access_of(cluster().admin_token());
  access.token = "not-a-token-of-this-cluster";
  const auto unknown = run_to_end(io_, client_of(access)->get("/api/v1/nodes"));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().what.find("does not know who we are (401)"), std::string::npos) << unknown.error().what;

  access = access_of(cluster().admin_token());
  const TemporaryDirectory directory;
  const CertificateAuthority other(directory.path(), "other");
  access.ca = PemSource{"", other.ca_file()};
  const auto untrusted = run_to_end(io_, client_of(access)->get("/version"));
  ASSERT_FALSE(untrusted);
  EXPECT_NE(untrusted.error().what.find("from an unknown CA"), std::string::npos) << untrusted.error().what;

  access = access_of(cluster().admin_token());
  access.tls_server_name = "elsewhere.example";
  const auto misnamed = run_to_end(io_, client_of(access)->get("/version"));
  ASSERT_FALSE(misnamed);
  EXPECT_NE(misnamed.error().what.find("for another name"), std::string::npos) << misnamed.error().what;
}

TEST_F(KubeClientOnCluster, AsksWhetherABudgetLetsAPodGo) {
  const auto client = admin();
  const std::string space = make_namespace();
  nlohmann::json pod;
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = "web";
  pod["metadata"]["namespace"] = space;
  pod["metadata"]["labels"]["app"] = "web";
  pod["spec"]["containers"] = nlohmann::json::array({{{"name", "c"}, {"image", "none.example/none"}}});
  pod["spec"]["automountServiceAccountToken"] = false;
  pod["spec"]["nodeName"] = "owned";
  pod["spec"]["serviceAccountName"] = "web";
  nlohmann::json account;
  account["apiVersion"] = "v1";
  account["kind"] = "ServiceAccount";
  account["metadata"]["name"] = "web";
  account["metadata"]["namespace"] = space;
  cluster().put(account);
  cluster().make_node(NodeShape{"owned"});
  cluster().put(pod);
  // A pod that does not run yet has no budget to keep to.
  KubeRequest running("PATCH", "/api/v1/namespaces/" + space + "/pods/web/status");
  running.content_type = "application/merge-patch+json";
  running.body = R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})";
  const auto runs = run_to_end(io_, client->send(running));
  ASSERT_TRUE(runs) << runs.error().what;
  ASSERT_TRUE(runs->is_success()) << runs->body.dump();
  const auto free = run_to_end(io_, try_eviction(*client, space, "web"));
  ASSERT_TRUE(free) << free.error().what;
  EXPECT_TRUE(free->allowed);

  nlohmann::json budget;
  budget["apiVersion"] = cluster().minor() < 21 ? "policy/v1beta1" : "policy/v1";
  budget["kind"] = "PodDisruptionBudget";
  budget["metadata"]["name"] = "web";
  budget["metadata"]["namespace"] = space;
  budget["spec"]["minAvailable"] = 1;
  budget["spec"]["selector"]["matchLabels"]["app"] = "web";
  cluster().put(budget);
  const auto kept = run_to_end(io_, try_eviction(*client, space, "web"));
  ASSERT_TRUE(kept) << kept.error().what;
  EXPECT_FALSE(kept->allowed);
  EXPECT_NE(kept->reason.find("disruption budget"), std::string::npos) << kept->reason;
  EXPECT_FALSE(cluster().get({"-n", space, "pod", "web"})["metadata"].contains("deletionTimestamp"));

  const auto missing = run_to_end(io_, try_eviction(*client, space, "nobody"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
