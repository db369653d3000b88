// The shipped agent publishes its labels on a real API server, beside others who write there too.

#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/cluster.h"
#include "tests/e2e/host_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kNode = "gpu-node-1";
constexpr std::string_view kAllWell = "labels are as they should be";
constexpr std::string_view kWrote = "labels published";
/// How often a test sees the agent look at its Node before it believes that nothing more comes.
constexpr int kLooks = 5;

using LabelMap = std::map<std::string, std::string>;

/// Labels that come from one fact: all of them, or none.
bool is_of_driver(const std::string& key) {
  return key.starts_with("nvidia.com/cuda.driver") || key == "gpuskew.io/driver-version" ||
         key == "gpuskew.io/driver-branch";
}

std::size_t driver_labels(const LabelMap& labels) {
  std::size_t count = 0;
  for (const auto& [key, value] : labels) {
    count += is_of_driver(key) ? 1 : 0;
  }
  return count;
}

class LabelPublishing : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    kubeconfig_ = cluster().admin();
    std::filesystem::create_directory(directory_.path() / "state");
  }

  void make_node(const LabelMap& labels = {}) const { cluster().make_node({.name = kNode, .labels = labels}); }

  Process start_agent() const {
    const std::string directory = directory_.path();
    write_file(directory_.path() / "agent.yaml",
               "node: " + std::string(kNode) + "\nhost_root: " + tree_.path().string() +
                   "\nstate_directory: " + directory +
                   "/state\n"
                   // Labels need no aggregator.
                   "aggregator: {address: \"127.0.0.1:1\", ca: none, certificate: none, key: none}\n"
                   "intervals: {poll: 200ms}\nlog: {level: debug}\n"
                   "labels: {publish: api, resync: 200ms, kubeconfig: " +
                   kubeconfig_.string() + "}\n");
    return Process::start({GPUSKEW_AGENT, "--config", directory + "/agent.yaml"});
  }

  /// An agent that has published everything.
  Process start_and_settle() const {
    Process agent = start_agent();
    settle(agent);
    return agent;
  }
  static void settle(Process& agent, int looks = 1) {
    for (int i = 0; i < looks; ++i) {
      agent.wait_for_line(kAllWell, agent.mark(), kClusterPatience);
    }
  }
  /// Lines in which an agent says that it wrote to the Node.
  static std::size_t writes(Process& agent) {
    agent.mark();
    std::size_t count = 0;
    for (std::size_t at = agent.err().find(kWrote); at != std::string::npos; at = agent.err().find(kWrote, at + 1)) {
      ++count;
    }
    return count;
  }

  LabelMap labels() const { return cluster().get({"node", kNode}).at("metadata").at("labels").get<LabelMap>(); }
  std::optional<std::string> label(const std::string& key) const {
    const LabelMap all = labels();
    const auto found = all.find(key);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  }
  void await_label(const std::string& key, const std::optional<std::string>& value) const {
    eventually(
        key + "=" + value.value_or("none"), [&] { return label(key) == value; }, kClusterPatience);
  }

  /// kubectl label, as `manager`.
  void set_label(const std::string& change, const std::string& manager) const {
    cluster().kubectl({"label", "node", kNode, "--overwrite", "--field-manager", manager, change});
  }
  /// Server-side apply by `manager`, forced.
  void apply_labels(const LabelMap& wanted, const std::string& manager) const {
    const nlohmann::json object = {
        {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", kNode}, {"labels", wanted}}}};
    const auto file = directory_.path() / "apply.json";
    write_file(file, object.dump());
    cluster().kubectl({"apply", "--server-side", "--force-conflicts", "--field-manager", manager, "-f", file.string()});
  }

  /// Every state of the Node's labels from now on, one a line.
  Process watch() const {
    Process watching = cluster().start_kubectl(
        {"get", "node", kNode, "--watch", "--output", R"(jsonpath=state {.metadata.labels}{"\n"})"});
    watching.wait_for_line("state ", 0, kClusterPatience);
    return watching;
  }
  /// What a watch saw up to now, without repetitions (a node's heartbeat is a line too).
  std::vector<LabelMap> seen_by(Process& watching) const {
    // The watch has seen everything when it has seen this.
    static int number = 0;
    const std::string mark = std::to_string(++number);
    set_label("test/mark=" + mark, "test");
    watching.wait_for_line("\"test/mark\":\"" + mark + "\"", 0, kClusterPatience);
    std::vector<LabelMap> states;
    std::istringstream lines(watching.out());
    for (std::string line; std::getline(lines, line);) {
      auto state = nlohmann::json::parse(line.substr(line.find('{'))).get<LabelMap>();
      state.erase("test/mark");
      if (states.empty() || states.back() != state) {
        states.push_back(std::move(state));
      }
    }
    return states;
  }

  TemporaryDirectory directory_;
  HostTree tree_{kHealthy, directory_.path() / "host"};
  std::filesystem::path kubeconfig_;
};

TEST_F(LabelPublishing, PutsOwnAndStandardLabelsOnTheNode) {
  make_node();
  const Process agent = start_and_settle();
  const LabelMap all = labels();
  const LabelMap expected = {{"gpuskew.io/driver-branch", "550"},
                             {"gpuskew.io/driver-flavour", "proprietary"},
                             {"gpuskew.io/driver-version", "550.90.07"},
                             {"gpuskew.io/kernel", "5.15.0-119-generic"},
                             {"gpuskew.io/library-version", "550.90.07"},
                             {"gpuskew.io/os", "ubuntu"},
                             {"gpuskew.io/os-version", "22.04"},
                             {"gpuskew.io/state", "ok"},
                             {"feature.node.kubernetes.io/kernel-version.full", "5.15.0-119-generic"},
                             {"feature.node.kubernetes.io/system-os_release.ID", "ubuntu"},
                             {"feature.node.kubernetes.io/system-os_release.VERSION_ID", "22.04"},
                             {"nvidia.com/cuda.driver-version.full", "550.90.07"},
                             {"nvidia.com/cuda.driver.major", "550"},
                             {"nvidia.com/cuda.driver.minor", "90"},
                             {"nvidia.com/cuda.driver.rev", "07"},
                             {"nvidia.com/gpu.present", "true"}};
  for (const auto& [key, value] : expected) {
    EXPECT_TRUE(all.contains(key) && all.at(key) == value) << key;
  }
  EXPECT_EQ(all.at("kubernetes.io/os"), "linux") << "what others wrote stays";
}

TEST_F(LabelPublishing, TakesEveryDriverLabelAwayInOneStepWhenTheDriverGoes) {
  make_node();
  const Process agent = start_and_settle();
  Process watching = watch();
  tree_.unload_nvidia();
  await_label("nvidia.com/cuda.driver.major", std::nullopt);
  const std::vector<LabelMap> states = seen_by(watching);
  const std::size_t all = driver_labels(states.front());
  EXPECT_EQ(all, 9U);
  for (const LabelMap& state : states) {
    EXPECT_TRUE(driver_labels(state) == all || driver_labels(state) == 0) << nlohmann::json(state);
  }
  EXPECT_EQ(driver_labels(states.back()), 0U);
  EXPECT_EQ(states.back().at("gpuskew.io/kernel"), "5.15.0-119-generic");
  EXPECT_EQ(states.back().at("nvidia.com/gpu.present"), "true");
}

TEST_F(LabelPublishing, LeavesAStandardKeyToItsOwnerAndTakesItOverWhenTheOwnerIsGone) {
  make_node();
  set_label("nvidia.com/gpu.present=maybe", "kubectl-label");
  set_label("nvidia.com/cuda.driver.major=550", "gpu-feature-discovery");
  Process agent = start_and_settle();
  const std::string line = agent.wait_for_line("labels are left to their owners");
  EXPECT_NE(line.find("nvidia.com/gpu.present (kubectl-label)"), std::string::npos) << line;
  EXPECT_NE(line.find("nvidia.com/cuda.driver.major (gpu-feature-discovery)"), std::string::npos) << line;
  EXPECT_EQ(label("nvidia.com/gpu.present"), "maybe");
  EXPECT_EQ(label("nvidia.com/cuda.driver.minor"), "90");
  // It was not ours although the value was: its owner can take it away, and then it is ours.
  set_label("nvidia.com/gpu.present-", "kubectl-label");
  await_label("nvidia.com/gpu.present", "true");
  set_label("nvidia.com/cuda.driver.major-", "gpu-feature-discovery");
  agent.wait_for_line("no label has another owner any more");
  await_label("nvidia.com/cuda.driver.major", "550");
}

TEST_F(LabelPublishing, TakesItsOwnPrefixBackWhoeverWroteThere) {
  make_node({{"gpuskew.io/kernel", "wrong"}});
  const Process agent = start_and_settle();
  EXPECT_EQ(label("gpuskew.io/kernel"), "5.15.0-119-generic");
  set_label("gpuskew.io/state=fine", "kubectl-label");
  await_label("gpuskew.io/state", "ok");
  set_label("gpuskew.io/os-", "kubectl-label");
  await_label("gpuskew.io/os", "ubuntu");
}

TEST_F(LabelPublishing, RemovesAnOwnLabelThatAnotherWouldKeepAlive) {
  make_node();
  Process agent = start_and_settle();
  apply_labels({{"gpuskew.io/driver-version", "550.90.07"}, {"gpuskew.io/next-kernel", "6.8.0"}}, "somebody");
  await_label("gpuskew.io/next-kernel", std::nullopt);
  apply_labels({{"gpuskew.io/driver-version", "550.90.07"}}, "somebody");
  tree_.unload_nvidia();
  await_label("gpuskew.io/driver-version", std::nullopt);
  settle(agent, kLooks);
  EXPECT_EQ(label("gpuskew.io/driver-version"), std::nullopt);
}

TEST_F(LabelPublishing, NeverFlapsBesideAnotherWriterOfTheSameKeys) {
  make_node();
  Process agent = start_and_settle();
  const LabelMap theirs = {{"nvidia.com/cuda.driver.major", "535"},
                           {"nvidia.com/cuda.driver.minor", "183"},
                           {"nvidia.com/cuda.driver.rev", "01"}};
  constexpr int kRounds = 6;
  std::size_t written = 0;
  for (int round = 0; round < kRounds; ++round) {
    // GFD by itself updates; by way of NFD it applies.
    if (round % 2 == 0) {
      for (const auto& [key, value] : theirs) {
        set_label(key + "=" + value, "gpu-feature-discovery");
      }
    } else {
      apply_labels(theirs, "nfd-master");
    }
    settle(agent, kLooks);
    if (round == 0) {
      written = writes(agent);
    }
    for (const auto& [key, value] : theirs) {
      EXPECT_EQ(label(key), value) << "round " << round;
    }
  }
  EXPECT_EQ(writes(agent), written) << "the agent has written again\n" << agent.err();
  EXPECT_EQ(label("nvidia.com/cuda.driver-version.full"), "550.90.07") << "nobody else owns this one";
}

TEST_F(LabelPublishing, WritesNothingWhileNothingChanges) {
  make_node();
  Process agent = start_and_settle();
  const auto version = [this] {
    // The managers' entries change with each write of ours, and not with a node's heartbeat.
    const nlohmann::json node = cluster().get({"node", kNode, "--show-managed-fields"});
    for (const nlohmann::json& entry : node.at("metadata").at("managedFields")) {
      if (entry.at("manager") == "gpuskew-agent") {
        return entry.dump();
      }
    }
    return std::string("none");
  };
  const std::string before = version();
  settle(agent, kLooks);
  EXPECT_EQ(version(), before);
  EXPECT_EQ(writes(agent), 1U);
}

TEST_F(LabelPublishing, ChangesNoLabelWhenTheAgentIsKilledAndComesBack) {
  make_node();
  Process agent = start_and_settle();
  Process watching = watch();
  for (int i = 0; i < 3; ++i) {
    agent.signal(i == 0 ? SIGTERM : SIGKILL);
    agent.wait();
    agent = start_and_settle();
  }
  EXPECT_EQ(seen_by(watching).size(), 1U) << watching.out();
}

TEST_F(LabelPublishing, CatchesUpAfterTheApiServerWasAway) {
  make_node();
  Process agent = start_and_settle();
  cluster().stop_api_server(Cluster::End::killed);
  tree_.unload_nvidia();
  agent.wait_for_line("the driver is gone");
  cluster().start_api_server();
  await_label("gpuskew.io/driver-version", std::nullopt);
  EXPECT_EQ(driver_labels(labels()), 0U);
}

TEST_F(LabelPublishing, LeavesOutAKernelThatIsTooLongAndSaysSo) {
  make_node();
  tree_.write("proc/sys/kernel/osrelease", "6.8.0-1046-" + std::string(53, 'x') + "\n");
  Process agent = start_and_settle();
  const std::string line = agent.wait_for_line("labels are left out");
  EXPECT_NE(line.find("a label value holds at most 63"), std::string::npos) << line;
  const LabelMap all = labels();
  EXPECT_FALSE(all.contains("gpuskew.io/kernel"));
  EXPECT_FALSE(all.contains("feature.node.kubernetes.io/kernel-version.full"));
  EXPECT_EQ(all.at("feature.node.kubernetes.io/kernel-version.major"), "6");
}

TEST_F(LabelPublishing, WaitsForItsNodeAndMakesNone) {
  Process agent = start_agent();
  const std::string line = agent.wait_for_line("labels are not published, trying on", 0, kClusterPatience);
  EXPECT_NE(line.find(std::string("nodes \\\"") + kNode), std::string::npos) << line;
  EXPECT_TRUE(cluster().get({"nodes"}).at("items").empty());
  make_node();
  await_label("gpuskew.io/state", "ok");
}

TEST_F(LabelPublishing, SaysWhichRightIsMissing) {
  make_node();
  kubeconfig_ = cluster().viewer_token();
  Process agent = start_agent();
  const std::string line = agent.wait_for_line("labels are not published, trying on", 0, kClusterPatience);
  EXPECT_NE(line.find("cannot get resource"), std::string::npos) << line;
  EXPECT_FALSE(labels().contains("gpuskew.io/state"));
}

TEST_F(LabelPublishing, NeedsOnlyToGetAndPatchItsOwnNode) {
  make_node();
  const std::string role = "labels-test-" + std::string(kNode);
  cluster().try_kubectl({"delete", "clusterrole,clusterrolebinding", role});
  cluster().kubectl({"create", "clusterrole", role, "--verb=get,patch", "--resource=nodes", "--resource-name", kNode});
  cluster().kubectl({"create", "clusterrolebinding", role, "--clusterrole", role, "--user=viewer"});
  kubeconfig_ = cluster().viewer_token();
  const Process agent = start_and_settle();
  EXPECT_EQ(label("gpuskew.io/state"), "ok");
  cluster().kubectl({"delete", "clusterrole,clusterrolebinding", role});
}

// docs/labels.md names this command for nodes whose agent was removed.
TEST_F(LabelPublishing, LeavesLabelsThatOneApplyTakesAway) {
  make_node();
  Process agent = start_and_settle();
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(), 0);
  EXPECT_EQ(label("gpuskew.io/state"), "ok");
  apply_labels({}, "gpuskew-agent");
  for (const auto& [key, value] : labels()) {
    EXPECT_FALSE(key.starts_with("gpuskew.io/") || key.starts_with("nvidia.com/")) << key;
  }
}

}  // namespace
}  // namespace gpuskew
