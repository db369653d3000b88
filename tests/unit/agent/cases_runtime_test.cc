// Cases of tests/fixtures/cases about container runtimes.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/probes/container_runtime.h"
#include "tests/unit/agent/go_program.h"
#include "tests/unit/agent/runtime_tree.h"

namespace gpuskew {
namespace {

std::filesystem::path case_path(const char* name) {
  return std::filesystem::path(GPUSKEW_FIXTURES) / "cases" / name;
}

Fact<ContainerRuntime> runtime_of(const std::filesystem::path& root) {
  return read_container_runtime(root_at(root), runtime_boot(), nullptr);
}

TEST(Case200, FindsTheHandlerOfVersion3InAnImportedDropIn) {
  const auto runtime = runtime_of(case_path("200-containerd-v3-plugin-path"));
  ASSERT_TRUE(runtime.is_known()) << runtime.why().what;
  EXPECT_EQ(runtime->config_version, 3U);
  EXPECT_EQ(runtime->handlers,
            (std::vector<RuntimeHandler>{{"nvidia", "/usr/local/nvidia/toolkit/nvidia-container-runtime",
                                          "/etc/containerd/conf.d/99-nvidia.toml"}}));
  EXPECT_EQ(runtime->default_runtime, "nvidia");
  EXPECT_TRUE(runtime->unimported.empty());
}

TEST(Case202, FindsARuntimeInVersion1WhoseDefaultStaysRunc) {
  std::ifstream file(case_path("202-containerd-v1-config-default-runtime") / "config.toml");
  std::ostringstream config;
  config << file.rdbuf();
  const ScratchTree tree;
  tree.directory("/proc");
  tree.write("/etc/containerd/config.toml", config.str());
  tree.write("/usr/bin/containerd", go_program("path\tgithub.com/containerd/containerd/cmd/containerd\n"));
  const auto runtime = runtime_of(tree.path());
  ASSERT_TRUE(runtime.is_known()) << runtime.why().what;
  EXPECT_EQ(runtime->config_version, 1U);
  ASSERT_EQ(runtime->handlers.size(), 2U);
  EXPECT_EQ(runtime->handlers[0].name, "nvidia");
  // The default_runtime table: what containerd 1.6.20 logs at its start has a runtime of this name, too.
  EXPECT_EQ(runtime->handlers[1].name, "default");
  EXPECT_EQ(runtime->default_runtime, "runc");
}

TEST(Case204, ReadsTheContainerdBehindTheKubeletsSocket) {
  const auto runtime = runtime_of(case_path("204-rke2-own-containerd"));
  ASSERT_TRUE(runtime.is_known()) << runtime.why().what;
  EXPECT_EQ(runtime->flavour, "rke2");
  EXPECT_EQ(runtime->config, "/var/lib/rancher/rke2/agent/etc/containerd/config.toml");
  EXPECT_TRUE(runtime->handlers.empty());
  EXPECT_EQ(runtime->unimported, std::vector<std::string>{"/etc/containerd/config.toml"});
}

}  // namespace
}  // namespace gpuskew
