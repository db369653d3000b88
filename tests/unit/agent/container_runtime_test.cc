#include "agent/probes/container_runtime.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/containerd_shapes.h"
#include "tests/unit/agent/go_program.h"
#include "tests/unit/agent/runtime_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr const char* kMain = "/etc/containerd/config.toml";
constexpr const char* kDropIn = "/etc/containerd/conf.d/99-nvidia.toml";

// A containerd of this version that runs since ten seconds after the boot.
void run_containerd(const ScratchTree& tree, const std::string& version, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), "/usr/bin/containerd");
  write_process(tree, 700, "containerd", arguments);
  const bool is_2 = version.starts_with("2");
  tree.write("/usr/bin/containerd",
             go_program("path\tgithub.com/containerd/containerd" + std::string(is_2 ? "/v2" : "") +
                        "/cmd/containerd\nmod\tgithub.com/containerd/containerd" + (is_2 ? "/v2" : "") + "\tv" +
                        version + "\n"));
  if (!std::filesystem::is_symlink(tree.path() / "proc/700/exe")) {
    tree.link("/proc/700/exe", "/usr/bin/containerd");
  }
}

Fact<ContainerRuntime> runtime_of(const ScratchTree& tree) {
  return read_container_runtime(tree.root(), runtime_boot(), nullptr);
}

TEST(ContainerRuntime, IsWhatTheRunningDaemonWouldMergeNow) {
  const ScratchTree tree;
  run_containerd(tree, "2.1.4");
  tree.write(kMain, "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n");
  tree.write(kDropIn, "version = 2\n" + nvidia_runtime(kV2));
  set_changed(tree, kDropIn, kRuntimeBoot + 1h);
  const auto fact = runtime_of(tree);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_EQ(fact.source(), kMain);
  EXPECT_EQ(fact->kind, RuntimeKind::Containerd);
  EXPECT_EQ(fact->config, kMain);
  EXPECT_EQ(fact->config_version, 2U);
  EXPECT_EQ(*fact->version, "2.1.4");
  EXPECT_EQ(fact->handlers, (std::vector<RuntimeHandler>{{"nvidia", "/usr/bin/nvidia-container-runtime", kDropIn}}));
  EXPECT_EQ(fact->default_runtime, "runc");
  EXPECT_TRUE(fact->cdi_enabled);
  EXPECT_EQ(*fact->started_at, kRuntimeBoot + 10s);
  EXPECT_EQ(fact->newest_file, kDropIn);
  EXPECT_EQ(fact->newest_change, kRuntimeBoot + 1h);
  EXPECT_TRUE(fact->unimported.empty());
  EXPECT_TRUE(fact->conflicts.empty());
  EXPECT_EQ(fact->toolkit, "");
}

TEST(ContainerRuntime, NamesDropInsThatNothingImports) {
  const ScratchTree tree;
  run_containerd(tree, "1.7.27");
  tree.write(kMain, "version = 2\n");
  tree.write(kDropIn, "version = 2\n" + nvidia_runtime(kV2));
  tree.write("/etc/containerd/conf.d/mirrors.toml", "version = 2\n");
  tree.write("/etc/containerd/certs.d/broken.toml", "= =");
  tree.write("/usr/bin/nvidia-container-runtime", "");
  const auto fact = runtime_of(tree);
  EXPECT_TRUE(fact->handlers.empty());
  EXPECT_EQ(fact->unimported, std::vector<std::string>{kDropIn});
  EXPECT_EQ(fact->newest_file, "");
  EXPECT_EQ(fact->toolkit, "/usr/bin/nvidia-container-runtime");
}

TEST(ContainerRuntime, WithoutAnyConfigurationHasContainerdsDefaults) {
  const ScratchTree tree;
  run_containerd(tree, "1.7.27");
  const auto fact = runtime_of(tree);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_EQ(fact->config_version, 0U);
  EXPECT_EQ(fact->default_runtime, "runc");
  EXPECT_FALSE(fact->cdi_enabled);
}

TEST(ContainerRuntime, IsUnknownWhereTheFileItWasStartedWithIsGone) {
  const ScratchTree tree;
  run_containerd(tree, "1.7.27", {"--config", "/opt/gone.toml"});
  EXPECT_EQ(runtime_of(tree).why().code, ErrorCode::NotFound);
}

TEST(ContainerRuntime, IsUnknownWithFileAndLineWhereAFileIsBroken) {
  const ScratchTree tree;
  run_containerd(tree, "1.7.27");
  tree.write(kMain, "version = 2\nversion = 2\n");
  EXPECT_TRUE(runtime_of(tree).why().what.starts_with("/etc/containerd/config.toml:2: not TOML"));
  tree.write(kMain, "version = 3\n");
  EXPECT_TRUE(runtime_of(tree).is_known());  // early releases of 1.7 took any version
  tree.write(kMain, "version = 2\n" + nvidia_runtime("cri"));
  EXPECT_EQ(
      runtime_of(tree).why().what,
      "containerd refuses its configuration: plugins.'cri' in /etc/containerd/config.toml is no name of version 2");
}

TEST(ContainerRuntime, OfAnUnknownVersionIsKnownWhereItMakesNoDifference) {
  const ScratchTree tree;
  write_process(tree, 700, "containerd", {"/usr/bin/containerd"});
  tree.write(kMain, "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n" + nvidia_runtime(kV2));
  const auto fact = runtime_of(tree);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_TRUE(fact->version.is_unknown());
  EXPECT_EQ(fact->handlers.size(), 1U);
  EXPECT_FALSE(fact->cdi_enabled);

  tree.write(kDropIn, "version = 2\n[plugins." + std::string(kV2) + ".registry]\n  config_path = '/x'\n");
  const auto differing = runtime_of(tree);
  ASSERT_TRUE(differing.is_unknown());
  EXPECT_TRUE(differing.why().what.starts_with(
      "containerd's versions merge /etc/containerd/config.toml and its imports to different ends, and its own is "
      "unknown: "))
      << differing.why().what;
}

TEST(ContainerRuntime, ThatDoesNotRunHasNoStart) {
  const ScratchTree tree;
  tree.directory("/proc");
  tree.write(kMain, "version = 2\n");
  const auto fact = runtime_of(tree);
  EXPECT_TRUE(fact->started_at.is_absent());
  EXPECT_TRUE(fact->version.is_absent());
}

TEST(ContainerRuntime, IsAbsentOnlyWhereProcSaysThatNoneRuns) {
  const ScratchTree tree;
  EXPECT_TRUE(runtime_of(tree).is_unknown());
  tree.write(kMain, "");
  EXPECT_TRUE(runtime_of(tree)->started_at.is_unknown());
  tree.remove(kMain);
  tree.directory("/proc");
  EXPECT_TRUE(runtime_of(tree).is_absent());
}

TEST(ContainerRuntime, HasNoStartWhereTheBootTimeIsNotKnown) {
  const ScratchTree tree;
  run_containerd(tree, "1.7.27");
  const auto fact = read_container_runtime(
      tree.root(), Fact<Time>::unknown({ErrorCode::Denied, "permission denied"}, "/proc/stat"), nullptr);
  EXPECT_TRUE(fact->started_at.is_unknown());
}

TEST(ContainerRuntime, OfCrioIsReadFromItsDirectory) {
  const ScratchTree tree;
  write_process(tree, 700, "crio", {"/usr/bin/crio", "-d", "/opt/crio.d"});
  tree.write("/opt/crio.d/99-nvidia.conf",
             "[crio.runtime.runtimes.nvidia]\nruntime_path = '/usr/bin/nvidia-container-runtime'\n");
  const auto fact = runtime_of(tree);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_EQ(fact->kind, RuntimeKind::Crio);
  EXPECT_EQ(fact->config_version, 0U);
  EXPECT_EQ(fact->handlers.size(), 1U);
  EXPECT_TRUE(fact->version.is_unknown());
}

TEST(ContainerRuntimeCache, ReadsAgainWhenAFileADirectoryOrTheDaemonChanges) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  ContainerRuntimeCache cache;
  run_containerd(tree, "2.1.4");
  tree.write(kMain, "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n");
  tree.directory("/etc/containerd/conf.d");
  const auto first = cache.read(root, runtime_boot());
  EXPECT_TRUE(first->handlers.empty());
  EXPECT_EQ(cache.read(root, runtime_boot()), first);
  // The kernel's boot time may move by a second.
  EXPECT_EQ(cache.read(root, Fact<Time>::known(kRuntimeBoot + 1s, "/proc/stat")), first);
  tree.write(kDropIn, nvidia_runtime(kV2));
  EXPECT_EQ(cache.read(root, runtime_boot())->handlers.size(), 1U);
  tree.write(kDropIn, nvidia_runtime(kV2, "nvidia-cdi"));
  EXPECT_EQ(cache.read(root, runtime_boot())->handlers[0].name, "nvidia-cdi");
  write_process(tree, 700, "containerd", {"/usr/bin/containerd"}, 5000);
  for (int look = 0; look <= RuntimeProcesses::kLooksBeforeAll; ++look) {
    EXPECT_TRUE(cache.read(root, runtime_boot()).is_known());
  }
  EXPECT_EQ(*cache.read(root, runtime_boot())->started_at, kRuntimeBoot + 50s);
  tree.remove("/proc/700");
  EXPECT_TRUE(cache.read(root, runtime_boot())->started_at.is_absent());
}

}  // namespace
}  // namespace gpuskew
