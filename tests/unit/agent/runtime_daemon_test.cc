#include "agent/probes/runtime_daemon.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/runtime_tree.h"

namespace gpuskew {
namespace {

Result<RuntimeDaemon> daemon_of(const ScratchTree& tree) {
  tree.directory("/proc");
  RuntimeProcesses processes;
  SeenFiles seen;
  return find_runtime_daemon(tree.root(), processes.look(tree.root()).value(), seen);
}

std::string config_of(const ScratchTree& tree) {
  const auto daemon = daemon_of(tree);
  return daemon ? daemon->config : daemon.error().what;
}

TEST(RuntimeDaemon, IsTheOneThatRuns) {
  const ScratchTree tree;
  write_process(tree, 10, "containerd", {"/usr/bin/containerd"});
  const auto daemon = daemon_of(tree);
  ASSERT_TRUE(daemon) << daemon.error().what;
  EXPECT_EQ(daemon->kind, RuntimeKind::Containerd);
  EXPECT_EQ(daemon->config, "/etc/containerd/config.toml");
  EXPECT_FALSE(daemon->config_required);
  EXPECT_EQ(daemon->process->pid, 10U);
}

TEST(RuntimeDaemon, HasTheConfigurationItWasStartedWith) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"containerd", "-c", "/a/c.toml"},
                                                    {"containerd", "--config=/a/c.toml"},
                                                    {"containerd", "--root", "/x", "--config", "/a/c.toml"}}) {
    const ScratchTree tree;
    write_process(tree, 10, "containerd", arguments);
    EXPECT_EQ(config_of(tree), "/a/c.toml");
    EXPECT_TRUE(daemon_of(tree)->config_required);
  }
}

TEST(RuntimeDaemon, IsTheOneBehindTheKubeletsSocketWhicheverElseRuns) {
  const ScratchTree tree;
  write_process(tree, 10, "containerd", {"/usr/bin/containerd"});
  write_process(tree, 20, "containerd",
                {"containerd", "-c", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "-a",
                 "/run/k3s/containerd/containerd.sock"});
  write_process(tree, 30, "kubelet",
                {"kubelet", "--container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock"});
  EXPECT_EQ(daemon_of(tree)->flavour, "rke2");
  EXPECT_EQ(daemon_of(tree)->process->pid, 20U);
  write_process(tree, 30, "kubelet",
                {"kubelet", "--container-runtime-endpoint", "unix:///var/run/containerd/containerd.sock"});
  EXPECT_EQ(daemon_of(tree)->flavour, "");
  EXPECT_EQ(daemon_of(tree)->process->pid, 10U);
}

TEST(RuntimeDaemon, MayTellItsSocketInItsConfigurationOnly) {
  const ScratchTree tree;
  tree.write("/a.toml", "version = 2\n[grpc]\n  address = '/run/a.sock'\n");
  tree.write("/b.toml", "version = 4\n[plugins.'io.containerd.server.v1.grpc']\n  address = '/run/b.sock'\n");
  write_process(tree, 10, "containerd", {"containerd", "-c", "/a.toml"});
  write_process(tree, 11, "containerd", {"containerd", "-c", "/b.toml"});
  tree.write("/var/lib/kubelet/config.yaml",
             "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: \"unix:///run/b.sock\"\n");
  EXPECT_EQ(config_of(tree), "/b.toml");
  tree.write("/var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: unix:///run/a.sock\n");
  EXPECT_EQ(config_of(tree), "/a.toml");
  tree.write("/var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: /run/c.sock\n");
  EXPECT_EQ(config_of(tree), "the kubelet asks '/run/c.sock', where no runtime known here serves");
}

TEST(KubeletEndpoint, ComesFromItsFlagThenItsFile) {
  const ScratchTree tree;
  const auto endpoint = [&tree]() {
    tree.directory("/proc");
    RuntimeProcesses processes;
    SeenFiles seen;
    return *kubelet_endpoint(tree.root(), processes.look(tree.root()).value(), seen);
  };
  EXPECT_EQ(endpoint(), std::nullopt);
  tree.write("/var/lib/kubelet/kubeadm-flags.env",
             "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/crio/crio.sock --node-ip=1.2.3.4\"\n");
  EXPECT_EQ(endpoint(), "/run/crio/crio.sock");
  tree.write("/etc/kubernetes/kubelet.json", "{\"containerRuntimeEndpoint\":\"unix:///run/x.sock\",\"a\":1}");
  write_process(tree, 30, "kubelet", {"kubelet", "--config=/etc/kubernetes/kubelet.json"});
  EXPECT_EQ(endpoint(), "/run/x.sock");
  write_process(tree, 30, "kubelet",
                {"kubelet", "--config=/etc/kubernetes/kubelet.json", "--container-runtime-endpoint=/run/y.sock"});
  EXPECT_EQ(endpoint(), "/run/y.sock");
}

TEST(RuntimeDaemon, IsUnknownWhereTheKubeletsFileCanNotBeRead) {
  const ScratchTree tree;
  write_process(tree, 10, "containerd", {"containerd"});
  tree.fifo("/var/lib/kubelet/config.yaml");
  EXPECT_EQ(daemon_of(tree).error().code, ErrorCode::Malformed);
}

TEST(RuntimeDaemon, OfDockerIsNotJudged) {
  const ScratchTree tree;
  write_process(tree, 10, "containerd", {"containerd", "--config", "/var/run/docker/containerd/containerd.toml"});
  EXPECT_EQ(daemon_of(tree).error().code, ErrorCode::NotFound);
  write_process(tree, 11, "containerd", {"containerd"});
  EXPECT_EQ(config_of(tree), "/etc/containerd/config.toml");
  write_process(tree, 30, "kubelet", {"kubelet", "--container-runtime-endpoint=unix:///run/cri-dockerd.sock"});
  EXPECT_EQ(daemon_of(tree).error().what,
            "the kubelet asks '/run/cri-dockerd.sock': Docker's configuration is not read");
}

TEST(RuntimeDaemon, OfADistributionOfKubernetesCountsWithoutAnEndpoint) {
  const ScratchTree tree;
  write_process(tree, 10, "containerd", {"containerd"});
  write_process(tree, 20, "containerd", {"containerd", "-c", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"});
  write_process(tree, 19, "k3s-server", {"k3s server"});
  EXPECT_EQ(daemon_of(tree)->flavour, "k3s");
}

TEST(RuntimeDaemon, IsUnknownWhereNothingTellsTwoApart) {
  const ScratchTree tree;
  write_process(tree, 10, "containerd", {"containerd"});
  write_process(tree, 20, "crio", {"crio"});
  EXPECT_EQ(
      config_of(tree),
      "2 container runtimes run (/etc/containerd/config.toml, /etc/crio/crio.conf), and nothing tells which one a "
      "kubelet uses");
  // A kubelet that is told nothing asks containerd.
  write_process(tree, 30, "kubelet", {"kubelet"});
  EXPECT_EQ(config_of(tree), "/etc/containerd/config.toml");
}

TEST(RuntimeDaemon, ThatDoesNotRunIsTheOneThatIsInstalled) {
  const ScratchTree tree;
  EXPECT_EQ(daemon_of(tree).error().code, ErrorCode::NotFound);
  tree.write("/usr/bin/containerd", "");
  EXPECT_EQ(config_of(tree), "/etc/containerd/config.toml");
  EXPECT_FALSE(daemon_of(tree)->process);
  tree.write("/etc/k0s/containerd.toml", "");
  EXPECT_EQ(daemon_of(tree)->flavour, "k0s");
  tree.write("/var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n");
  EXPECT_EQ(daemon_of(tree)->flavour, "");
  tree.write("/var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: unix:///run/k0s/containerd.sock\n");
  EXPECT_EQ(daemon_of(tree)->flavour, "k0s");
  tree.write("/var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: unix:///var/run/crio/crio.sock\n");
  EXPECT_EQ(daemon_of(tree)->kind, RuntimeKind::Crio);
}

TEST(RuntimeDaemon, IsUnknownWhereTwoAreInstalledAndNeitherRuns) {
  const ScratchTree tree;
  tree.write("/etc/containerd/config.toml", "");
  tree.write("/usr/bin/crio", "");
  EXPECT_EQ(daemon_of(tree).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace gpuskew
