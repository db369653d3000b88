#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/rules/rules.h"
#include "tests/unit/core/nodes.h"

namespace gpuskew {
namespace {

using testing::absent;
using testing::denied;
using testing::known;
using namespace std::chrono_literals;

constexpr Time kStart = testing::kBoot + 1min;

/// A GPU node of a cluster whose containerd hands out GPUs as it should.
Snapshot cluster_node() {
  Snapshot s = testing::healthy_node();
  ContainerRuntime runtime;
  runtime.config = "/etc/containerd/config.toml";
  runtime.config_version = 2;
  runtime.version = known<std::string>("1.7.27", "/usr/bin/containerd");
  runtime.handlers = {{"nvidia", "/usr/bin/nvidia-container-runtime", "/etc/containerd/conf.d/99-nvidia.toml"}};
  runtime.default_runtime = "runc";
  runtime.started_at = known(kStart, "/proc/700/stat");
  runtime.newest_file = "/etc/containerd/conf.d/99-nvidia.toml";
  runtime.newest_change = testing::kBoot - 24h;
  runtime.toolkit = "/usr/bin/nvidia-container-runtime";
  s.runtime = known(std::move(runtime), "/etc/containerd/config.toml");
  s.cdi_specs = known(std::vector<CdiSpec>());
  s.kubelet =
      known(KubeletDevices{{"nvidia-gpu.sock"}, {{"nvidia.com/gpu", 8}}, {}}, "/var/lib/kubelet/device-plugins");
  return s;
}

template <class Change>
Snapshot with_runtime(Snapshot snapshot, Change change) {
  ContainerRuntime runtime = *snapshot.runtime;
  change(runtime);
  snapshot.runtime = known(std::move(runtime), "/etc/containerd/config.toml");
  return snapshot;
}

void lose_handler(ContainerRuntime& runtime) {
  runtime.handlers.clear();
  runtime.newest_file.clear();
}

using Rule = std::optional<Finding> (*)(const rules::Scene&);

std::optional<Finding> ask(Rule rule, const Snapshot& snapshot) {
  const NodeHistory history;
  const JudgePolicy policy;
  return rule(rules::Scene{snapshot, history, policy, nullptr, nullptr, testing::kLongAfterBoot});
}

std::vector<FindingCode> codes(const Snapshot& snapshot) {
  const Verdict verdict =
      judge(snapshot, NodeHistory(), JudgePolicy(), nullptr, testing::kLongAfterBoot, testing::kLongAfterBoot);
  std::vector<FindingCode> found;
  for (const Finding& finding : verdict.findings) {
    found.push_back(finding.code);
  }
  return found;
}

TEST(RuntimeRules, SayNothingOfANodeInOrder) {
  EXPECT_TRUE(codes(cluster_node()).empty());
}

TEST(RuntimeHandlerMissing, NamesTheDropInThatNothingImports) {
  const Snapshot node = with_runtime(cluster_node(), [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.unimported = {"/etc/containerd/conf.d/99-nvidia.toml"};
  });
  const auto finding = ask(rules::runtime_handler_missing, node);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Warning);
  EXPECT_EQ(finding->cause,
            "containerd has no handler for NVIDIA's runtime: /etc/containerd/conf.d/99-nvidia.toml defines one, and "
            "/etc/containerd/config.toml does not import it");
  EXPECT_EQ(finding->next_step,
            "ssh gpu-node-1 'sudo nvidia-ctk runtime configure --runtime=containerd "
            "--config=/etc/containerd/config.toml && sudo systemctl restart containerd'");
  EXPECT_EQ(finding->reboot_helps, RebootHelps::No);
  EXPECT_EQ(finding->evidence.size(), 4U);
  EXPECT_EQ(codes(node), std::vector<FindingCode>{FindingCode::RuntimeHandlerMissing});
}

TEST(RuntimeHandlerMissing, IsToldWhereTheToolkitIsInstalledAndNoOtherWayIsThere) {
  const Snapshot node = with_runtime(cluster_node(), lose_handler);
  EXPECT_EQ(ask(rules::runtime_handler_missing, node)->cause,
            "containerd has no handler for NVIDIA's runtime in /etc/containerd/config.toml, though NVIDIA's container "
            "toolkit is here");
}

TEST(RuntimeHandlerMissing, TakesAFreshMarkOfTheOperatorsToolkitForAnExpectationOnly) {
  Snapshot node = with_runtime(cluster_node(), [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.toolkit.clear();
  });
  EXPECT_FALSE(ask(rules::runtime_handler_missing, node));
  node.validations = known(std::vector<ValidationMark>{{"toolkit-ready", testing::kBoot - 1h, false}});
  EXPECT_FALSE(ask(rules::runtime_handler_missing, node));
  node.validations = known(std::vector<ValidationMark>{{"toolkit-ready", testing::kBoot + 1h, false}});
  EXPECT_TRUE(ask(rules::runtime_handler_missing, node));
}

TEST(RuntimeHandlerMissing, IsNoFaultWhereCdiHandsOutTheDevicesOrMay) {
  Snapshot node = with_runtime(cluster_node(), lose_handler);
  node.cdi_specs = known(std::vector<CdiSpec>{{"/var/run/cdi/nvidia.yaml", "nvidia.com/gpu", 8, "550.90.07"}});
  EXPECT_FALSE(ask(rules::runtime_handler_missing, node));
  node.cdi_specs = denied<std::vector<CdiSpec>>();
  EXPECT_FALSE(ask(rules::runtime_handler_missing, node));
}

TEST(RuntimeHandlerMissing, IsNoFaultWhereDevicePluginsMountTheDriverThemselves) {
  const Snapshot gke = with_runtime(cluster_node(), [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.toolkit.clear();
  });
  EXPECT_FALSE(ask(rules::runtime_handler_missing, gke));
}

TEST(RuntimeRules, SayNothingWithoutAKubeletOrWhereAFactIsUnknown) {
  const auto broken = [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.unimported = {"/x"};
    runtime.conflicts = {{"k", "/a", "/b", "enable_cdi"}};
  };
  Snapshot node = with_runtime(cluster_node(), broken);
  EXPECT_EQ(codes(node).size(), 2U);
  for (const auto& kubelet : {absent<KubeletDevices>(), denied<KubeletDevices>()}) {
    node.kubelet = kubelet;
    EXPECT_TRUE(codes(node).empty());
  }
  node = cluster_node();
  for (const auto& runtime : {absent<ContainerRuntime>(), denied<ContainerRuntime>()}) {
    node.runtime = runtime;
    EXPECT_TRUE(codes(node).empty());
  }
  node = with_runtime(cluster_node(), broken);
  node.gpus = known(std::vector<Gpu>());
  node.loaded_driver = absent<DriverVersion>();
  EXPECT_TRUE(codes(node).empty());
}

TEST(RuntimeHandlerMissing, OfRke2IsMendedByARestart) {
  const Snapshot node = with_runtime(cluster_node(), [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.flavour = "rke2";
    runtime.config = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml";
    runtime.unimported = {"/etc/containerd/config.toml"};
  });
  const auto finding = ask(rules::runtime_handler_missing, node);
  EXPECT_EQ(finding->next_step, "ssh gpu-node-1 sudo systemctl try-restart rke2-agent rke2-server");
  EXPECT_EQ(finding->reboot_helps, RebootHelps::Yes);
  EXPECT_TRUE(finding->cause.starts_with("the containerd of rke2 has no handler")) << finding->cause;
}

TEST(RuntimeRestartNeeded, IsToldWhereTheHandlersFileIsNewerThanTheDaemon) {
  const Snapshot node =
      with_runtime(cluster_node(), [](ContainerRuntime& runtime) { runtime.newest_change = kStart + 1h; });
  const auto finding = ask(rules::runtime_restart_needed, node);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->since, kStart + 1h);
  EXPECT_EQ(finding->reboot_helps, RebootHelps::Yes);
  EXPECT_EQ(finding->next_step, "ssh gpu-node-1 sudo systemctl restart containerd");
  EXPECT_NE(finding->cause.find("/etc/containerd/conf.d/99-nvidia.toml"), std::string::npos);
  EXPECT_EQ(codes(node), std::vector<FindingCode>{FindingCode::RuntimeRestartNeeded});
}

TEST(RuntimeRestartNeeded, IsNotClaimedWithoutProof) {
  const auto newer = [](ContainerRuntime& runtime) { runtime.newest_change = kStart + 1h; };
  Snapshot node = with_runtime(cluster_node(), newer);
  const auto asked = [&node](auto change) { return ask(rules::runtime_restart_needed, with_runtime(node, change)); };
  EXPECT_FALSE(asked([](ContainerRuntime& runtime) { runtime.started_at = absent<Time>(); }));
  EXPECT_FALSE(asked([](ContainerRuntime& runtime) { runtime.started_at = denied<Time>(); }));
  EXPECT_FALSE(asked([](ContainerRuntime& runtime) { runtime.newest_change = kStart + 1s; }));
  EXPECT_FALSE(asked([](ContainerRuntime& runtime) { runtime.newest_change = testing::kLongAfterBoot + 1h; }));
  EXPECT_FALSE(asked([](ContainerRuntime& runtime) { runtime.handlers.clear(); }));
  EXPECT_FALSE(asked([](ContainerRuntime& runtime) { runtime.kind = RuntimeKind::Crio; }));
}

TEST(RuntimeConfigConflict, NamesFilesKeyAndWhatIsLost) {
  const Snapshot node = with_runtime(cluster_node(), [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.conflicts = {{"plugins.'io.containerd.grpc.v1.cri'", "/etc/containerd/conf.d/mirrors.toml",
                          "/etc/containerd/config.toml", "runtime nvidia, default_runtime_name"}};
  });
  const auto finding = ask(rules::runtime_config_conflict, node);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->cause,
            "/etc/containerd/conf.d/mirrors.toml takes the place of what /etc/containerd/config.toml sets in "
            "plugins.'io.containerd.grpc.v1.cri', which loses runtime nvidia, default_runtime_name");
  EXPECT_EQ(finding->next_step,
            "ssh -t gpu-node-1 'sudoedit /etc/containerd/conf.d/mirrors.toml /etc/containerd/config.toml && sudo "
            "systemctl restart containerd'");
  // One cause, one finding: the missing handler is its consequence.
  EXPECT_EQ(finding->consequences.front(), "no handler for NVIDIA's runtime is left");
  EXPECT_EQ(codes(node), std::vector<FindingCode>{FindingCode::RuntimeConfigConflict});
}

TEST(RuntimeConfigConflict, SaysWhereATableIsNotReadAtAll) {
  const Snapshot node = with_runtime(cluster_node(), [](ContainerRuntime& runtime) {
    lose_handler(runtime);
    runtime.conflicts = {
        {"plugins.cri", "/etc/containerd/config.toml", "/etc/containerd/config.toml", "runtime nvidia"}};
  });
  EXPECT_EQ(ask(rules::runtime_config_conflict, node)->cause,
            "/etc/containerd/config.toml sets runtime nvidia in plugins.cri, which its configuration version does not "
            "read");
}

TEST(RuntimeConfigConflict, IsACdiSpecificationOfADriverThatIsGone) {
  Snapshot node = cluster_node();
  const auto spec = [&node](const char* version) {
    node.cdi_specs = known(std::vector<CdiSpec>{{"/var/run/cdi/nvidia.yaml", "nvidia.com/gpu", 8, version}});
    return ask(rules::runtime_config_conflict, node);
  };
  EXPECT_FALSE(spec("550.90.07"));
  EXPECT_FALSE(spec(""));
  const auto finding = spec("535.161.08");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->cause,
            "/var/run/cdi/nvidia.yaml hands containers the libraries of driver 535.161.08, which are not on this node: "
            "550.90.07 is loaded");
  EXPECT_EQ(finding->next_step, "ssh gpu-node-1 'sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml'");
  // Podman reads it as well.
  node.kubelet = absent<KubeletDevices>();
  EXPECT_TRUE(ask(rules::runtime_config_conflict, node));
  // With the libraries on the node it is the module that is behind, and that is another finding.
  node.libraries = known(std::vector<Library>{testing::library("535.161.08")});
  EXPECT_FALSE(ask(rules::runtime_config_conflict, node));
  node.libraries = denied<std::vector<Library>>();
  EXPECT_FALSE(ask(rules::runtime_config_conflict, node));
}

}  // namespace
}  // namespace gpuskew
