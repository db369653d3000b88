// What the aggregator does to a cluster's nodes when it is told to: with real nodes' reports, on a real API server.

#include <algorithm>
#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster/cluster.h"
#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

constexpr std::string_view kCondition = "gpuskew.io/GPUReady";
constexpr std::string_view kTaint = "gpuskew.io/gpu-gone";
constexpr std::string_view kAll = "condition: true, events: true, taint: true";
/// A leader that was killed is followed within this.
constexpr std::chrono::seconds kFollowedWithin{15};

class Acting : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (!IsSkipped()) {
      lease_ = make_namespace() + "/gpuskew-aggregator";
    }
  }

  /// An aggregator of this cluster that acts as `acting` says.
  void join(Stack& stack, std::string_view acting, std::string_view sections = "") const {
    stack.configure(std::string(sections) +
                    "kubernetes:\n  enabled: true\n  kubeconfig: " + cluster().admin().string() +
                    "\n  lease: " + lease_ + "\n  acting: {" + std::string(acting) + "}\n");
    stack.start_aggregator();
  }

  static void report_healthy(Stack& stack, const std::string& node) {
    HostTree tree(kHealthy, stack.directory() / ("healthy-" + node + "-" + std::to_string(++trees_)));
    stack.report_once(node, tree);
    stack.await_state("ok", node);
  }
  static void report_gone(Stack& stack, const std::string& node) {
    HostTree tree(kGone, stack.directory() / ("gone-" + node + "-" + std::to_string(++trees_)));
    stack.report_once(node, tree);
    stack.await_state("broken", node);
  }

  nlohmann::json node(const std::string& name) const { return cluster().get({"node", name}); }

  /// The node's condition of this type; null without one.
  nlohmann::json condition(const std::string& name, std::string_view type = kCondition) const {
    const nlohmann::json object = node(name);
    for (const nlohmann::json& found : object.at("status").at("conditions")) {
      if (found.at("type") == type) {
        return found;
      }
    }
    return {};
  }
  void await_condition(const std::string& name, std::string_view status) const {
    eventually(
        name + " has the condition " + std::string(status),
        [&] {
          const nlohmann::json found = condition(name);
          return !found.is_null() && found.at("status") == status;
        },
        kClusterPatience);
  }

  bool has_taint(const std::string& name, std::string_view key) const {
    const nlohmann::json spec = node(name).at("spec");
    for (const nlohmann::json& taint : spec.value("taints", nlohmann::json::array())) {
      if (taint.at("key") == key && taint.at("effect") == "NoSchedule") {
        return true;
      }
    }
    return false;
  }
  void await_taint(const std::string& name, bool wanted) const {
    eventually(
        name + (wanted ? " is tainted" : " is not tainted"), [&] { return has_taint(name, kTaint) == wanted; },
        kClusterPatience);
  }

  /// Reasons of our Events about this node, oldest first.
  std::vector<std::string> events(const std::string& name) const {
    const std::string uid = node(name).at("metadata").at("uid");
    const nlohmann::json all = cluster().get_path(
        "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=Node,involvedObject.name=" + name);
    std::vector<std::string> reasons;
    for (const nlohmann::json& event : all.at("items")) {
      if (event.at("involvedObject").at("uid") == uid &&
          event.at("source").value("component", "") == "gpuskew-aggregator") {
        reasons.push_back(event.at("reason"));
      }
    }
    return reasons;
  }

  static nlohmann::json replica(const Stack& stack) { return stack.get_json("/api/v1/status").at("replica"); }
  static void await_leader(const Stack& stack, std::chrono::milliseconds limit = kClusterPatience) {
    eventually(
        "the replica leads", [&] { return replica(stack).at("leads") == true; }, limit);
  }

  std::string lease_;
  inline static int trees_ = 0;
};

TEST_F(Acting, AKernelBumpGetsConditionEventAndTaintAndHealingTakesTheTaintAway) {
  nlohmann::json object = node_object({.name = "gpu-1"});
  object["status"]["conditions"].push_back({{"type", "team/Checked"}, {"status", "True"}, {"reason", "Theirs"}});
  cluster().put(object);
  cluster().kubectl({"taint", "node", "gpu-1", "team=ml:NoSchedule"});
  Stack stack;
  join(stack, kAll);
  report_healthy(stack, "gpu-1");
  await_condition("gpu-1", "True");
  EXPECT_TRUE(events("gpu-1").empty());
  const nlohmann::json theirs = condition("gpu-1", "team/Checked");
  const std::string well_since = condition("gpu-1").at("lastTransitionTime");

  report_gone(stack, "gpu-1");
  await_taint("gpu-1", true);
  await_condition("gpu-1", "False");
  const nlohmann::json broken = condition("gpu-1");
  EXPECT_EQ(broken.at("reason"), "GpuGoneAfterKernelBump");
  EXPECT_NE(broken.at("message").get<std::string>().find("5.15.0-122-generic"), std::string::npos) << broken;
  EXPECT_GE(broken.at("lastTransitionTime"), well_since);
  EXPECT_EQ(events("gpu-1"), std::vector<std::string>{"GpuGoneAfterKernelBump"});
  EXPECT_TRUE(has_taint("gpu-1", "team"));
  EXPECT_EQ(theirs.at("reason"), "Theirs");
  EXPECT_EQ(condition("gpu-1", "team/Checked"), theirs);

  report_healthy(stack, "gpu-1");
  await_taint("gpu-1", false);
  await_condition("gpu-1", "True");
  EXPECT_TRUE(has_taint("gpu-1", "team"));
  const std::vector<std::string> told = events("gpu-1");
  EXPECT_EQ(std::count(told.begin(), told.end(), "GpuReady"), 1);
  EXPECT_EQ(told.size(), 2U);
}

TEST_F(Acting, OnlyWhatWasAskedForIsDone) {
  cluster().make_node({.name = "gpu-1"});
  Stack stack;
  join(stack, "taint: true");
  report_healthy(stack, "gpu-1");
  report_gone(stack, "gpu-1");
  await_taint("gpu-1", true);
  EXPECT_TRUE(condition("gpu-1").is_null()) << "only the taint was asked for";
  report_healthy(stack, "gpu-1");
  await_taint("gpu-1", false);
}

TEST_F(Acting, ADryRunTellsWhatItWouldDoAndWritesNothing) {
  cluster().make_node({.name = "gpu-1"});
  Stack stack;
  join(stack, std::string(kAll) + ", dry_run: true");
  report_healthy(stack, "gpu-1");
  report_gone(stack, "gpu-1");
  const std::string line = stack.aggregator().wait_for_line("action=add-taint");
  EXPECT_NE(line.find("would act (dry run) node=gpu-1"), std::string::npos) << line;
  EXPECT_FALSE(has_taint("gpu-1", kTaint));
  EXPECT_TRUE(condition("gpu-1").is_null());
  EXPECT_TRUE(events("gpu-1").empty());
  EXPECT_EQ(replica(stack).at("dry_run"), true);
  EXPECT_EQ(replica(stack).at("leads"), false);
  const std::string name_space = lease_.substr(0, lease_.find('/'));
  EXPECT_TRUE(cluster().get({"leases", "-n", name_space}).at("items").empty()) << "a dry run leads nobody";
}

TEST_F(Acting, TheFuseStopsBeforeTheClusterIsTainted) {
  Stack stack;
  join(stack, kAll);
  for (const std::string name : {"gpu-1", "gpu-2", "gpu-3"}) {
    cluster().make_node({.name = name});
    report_healthy(stack, name);
    await_condition(name, "True");
  }
  await_leader(stack);
  // The first may be tainted: one node always may.
  for (const std::string name : {"gpu-1", "gpu-2", "gpu-3"}) {
    report_gone(stack, name);
  }
  for (const std::string name : {"gpu-1", "gpu-2", "gpu-3"}) {
    await_condition(name, "False");
  }
  eventually("the fuse is blown", [&] { return replica(stack).at("fuse").is_string(); });
  EXPECT_NE(stack.get("/metrics").find("\ngpuskew_acting_fuse_blown 1\n"), std::string::npos);
  stack.aggregator().wait_for_line("the fuse is blown");
  int tainted = 0;
  for (const std::string name : {"gpu-1", "gpu-2", "gpu-3"}) {
    tainted += has_taint(name, kTaint) ? 1 : 0;
  }
  EXPECT_LE(tainted, 1);
}

TEST_F(Acting, AKilledLeaderIsFollowedAndNoEventIsLostOrDoubled) {
  cluster().make_node({.name = "gpu-1"});
  Stack first;
  Stack second;
  join(first, kAll);
  await_leader(first);
  join(second, kAll);
  report_healthy(first, "gpu-1");
  report_healthy(second, "gpu-1");
  await_condition("gpu-1", "True");
  EXPECT_EQ(replica(second).at("leads"), false);
  EXPECT_EQ(replica(second).at("leader"), replica(first).at("identity"));

  // It breaks, and the leader dies while it acts or before.
  report_gone(second, "gpu-1");
  report_gone(first, "gpu-1");
  first.kill_aggregator();
  const auto killed = std::chrono::steady_clock::now();
  await_leader(second, kFollowedWithin);
  RecordProperty(
      "followed_ms",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - killed).count()));
  await_taint("gpu-1", true);
  await_condition("gpu-1", "False");
  EXPECT_EQ(events("gpu-1"), std::vector<std::string>{"GpuGoneAfterKernelBump"});
}

TEST_F(Acting, AnOrderlyStopGivesTheLeaseBack) {
  Stack first;
  Stack second;
  join(first, kAll);
  await_leader(first);
  join(second, kAll);
  first.aggregator().signal(SIGTERM);
  EXPECT_EQ(first.aggregator().wait(), 0);
  // Long before the Lease would have run out.
  await_leader(second, std::chrono::seconds(7));
}

TEST_F(Acting, ARestartOfTheApiServerIsSurvived) {
  cluster().make_node({.name = "gpu-1"});
  Stack stack;
  join(stack, kAll);
  report_healthy(stack, "gpu-1");
  await_condition("gpu-1", "True");
  cluster().stop_api_server(Cluster::End::killed);
  report_gone(stack, "gpu-1");
  eventually("no leader without the server", [&] { return replica(stack).at("leads") == false; });
  cluster().start_api_server();
  await_taint("gpu-1", true);
  await_condition("gpu-1", "False");
  EXPECT_EQ(events("gpu-1"), std::vector<std::string>{"GpuGoneAfterKernelBump"});
}

TEST_F(Acting, AGpuNodeWithoutAnAgentIsNoSilentGap) {
  cluster().make_node({.name = "gpu-1"});
  cluster().make_node({.name = "cpu-1", .gpus = 0});
  Stack stack;
  join(stack, "condition: true", "judge: {silent_after: 2s}\n");
  stack.await_state("unknown", "gpu-1");
  const std::string why = stack.node("gpu-1").at("why");
  EXPECT_TRUE(why.starts_with("no agent reports from this node")) << why;
  EXPECT_TRUE(stack.node("gpu-1").at("last_heard").is_null());
  EXPECT_TRUE(stack.node("cpu-1").is_null()) << "nothing speaks of a GPU there";
  await_condition("gpu-1", "Unknown");
  report_healthy(stack, "gpu-1");
  await_condition("gpu-1", "True");
}

TEST_F(Acting, ANodeThatLeftTheClusterIsForgottenAndItsHistoryStays) {
  cluster().make_node({.name = "gpu-1"});
  Stack stack;
  join(stack, "condition: true", "judge: {silent_after: 6s}\n");
  report_healthy(stack, "gpu-1");
  report_healthy(stack, "bare-metal-1");
  await_condition("gpu-1", "True");
  cluster().kubectl({"delete", "node", "gpu-1"});
  eventually("gpu-1 is forgotten", [&] { return stack.node("gpu-1").is_null(); });
  EXPECT_FALSE(stack.get_json("/api/v1/history/gpu-1").at("transitions").empty());
  EXPECT_FALSE(stack.node("bare-metal-1").is_null()) << "it never was of the cluster";
}

}  // namespace
}  // namespace gpuskew
