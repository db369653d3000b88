#include "agent/probes/runtime_processes.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/runtime_tree.h"

namespace gpuskew {
namespace {

std::vector<std::string> commands(const Result<std::vector<RuntimeProcess>>& processes) {
  std::vector<std::string> names;
  for (const RuntimeProcess& process : processes.value()) {
    names.push_back(process.command);
  }
  return names;
}

TEST(RuntimeProcesses, AreTheDaemonsAndKubeletsOnly) {
  const ScratchTree tree;
  write_process(tree, 1, "systemd", {"/sbin/init"});
  write_process(tree, 700, "containerd", {"/usr/bin/containerd", "--config", "/x.toml"}, 123456);
  write_process(tree, 701, "containerd-shim", {"/usr/bin/containerd-shim-runc-v2"});
  write_process(tree, 800, "k3s-agent", {"/usr/local/bin/k3s agent"});
  write_process(tree, 90, "kubelet", {"/usr/bin/kubelet"});
  tree.write("/proc/version", "Linux");
  RuntimeProcesses processes;
  const auto found = processes.look(tree.root());
  EXPECT_EQ(commands(found), (std::vector<std::string>{"kubelet", "containerd", "k3s-agent"}));
  EXPECT_EQ(found->at(1).start_ticks, 123456U);
  EXPECT_EQ(found->at(1).option({"-c", "--config"}), "/x.toml");
}

TEST(RuntimeProcesses, AreFoundWhenTheyComeAndLostWhenTheyGo) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  write_process(tree, 5, "bash", {"bash"});
  RuntimeProcesses processes;
  EXPECT_TRUE(processes.look(root)->empty());
  write_process(tree, 6, "containerd", {"containerd"});
  EXPECT_EQ(processes.look(root)->size(), 1U);
  tree.remove("/proc/6");
  EXPECT_TRUE(processes.look(root)->empty());
}

TEST(RuntimeProcesses, GetTheirNameAnInstantAfterTheirBirth) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  write_process(tree, 5, "bash", {"bash"});
  RuntimeProcesses processes;
  EXPECT_TRUE(processes.look(root)->empty());
  write_process(tree, 6, "(ontainerd)", {"/usr/bin/containerd"});
  EXPECT_TRUE(processes.look(root)->empty());
  write_process(tree, 6, "containerd", {"/usr/bin/containerd"});
  EXPECT_EQ(processes.look(root)->size(), 1U);
  // And a child that has its parent's name until it becomes a shim is no daemon then.
  write_process(tree, 6, "containerd-shim", {"/usr/bin/containerd-shim"});
  EXPECT_TRUE(processes.look(root)->empty());
}

TEST(RuntimeProcesses, AreOthersWhenAPidIsUsedAgain) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  write_process(tree, 6, "containerd", {"old"}, 10);
  RuntimeProcesses processes;
  EXPECT_EQ(processes.look(root)->at(0).start_ticks, 10U);
  write_process(tree, 6, "containerd", {"new"}, 20);
  for (int look = 0; look <= RuntimeProcesses::kLooksBeforeAll; ++look) {
    EXPECT_TRUE(processes.look(root));
  }
  EXPECT_EQ(processes.look(root)->at(0).start_ticks, 20U);
}

TEST(RuntimeProcesses, OfAContainerDoNotCount) {
  const ScratchTree tree;
  write_process(tree, 6, "containerd", {"containerd"});
  tree.write("/proc/6/status", "Name:\tcontainerd\nNSpid:\t6\t1\nNSpgid:\t6\t1\n");
  write_process(tree, 7, "containerd", {"containerd"});
  tree.write("/proc/7/status", "Name:\tcontainerd\nNSpid:\t7\nNSpgid:\t7\n");
  RuntimeProcesses processes;
  const auto found = processes.look(tree.root());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->at(0).pid, 7U);
}

TEST(RuntimeProcesses, MayHaveAnythingInTheirNamesAndArguments) {
  const ScratchTree tree;
  write_process(tree, 6, "a) R 1 (b", {"x"});
  tree.write("/proc/7/comm", "containerd\n");
  tree.write("/proc/7/cmdline", "");
  tree.write("/proc/7/stat", "7 (containerd");
  tree.write("/proc/8/comm", std::string(1u << 20, 'x'));
  tree.fifo("/proc/9/comm");
  write_process(tree, 10, "kubelet", {"kubelet", "--config", "--config=/last", "--config"});
  RuntimeProcesses processes;
  const auto found = processes.look(tree.root());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->at(0).option({"--config"}), "/last");
  EXPECT_EQ(found->at(0).option({"--conf"}), std::nullopt);
}

TEST(RuntimeProcesses, AreUnknownWithoutProc) {
  const ScratchTree tree;
  RuntimeProcesses processes;
  EXPECT_EQ(processes.look(tree.root()).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
