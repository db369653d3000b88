#include "agent/probes/crio_config.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/runtime_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kMain = "/etc/crio/crio.conf";
constexpr const char* kDropIns = "/etc/crio/crio.conf.d";
constexpr const char* kNvidia =
    "[crio]\n[crio.runtime]\ndefault_runtime = \"nvidia\"\n[crio.runtime.runtimes.nvidia]\n"
    "runtime_path = \"/usr/local/nvidia/toolkit/nvidia-container-runtime\"\nruntime_type = \"oci\"\n";

Result<ContainerRuntime> runtime_of(const ScratchTree& tree) {
  ContainerRuntime runtime;
  SeenFiles seen;
  const auto read = read_crio_config(tree.root(), kMain, kDropIns, seen, runtime);
  return read ? Result<ContainerRuntime>(runtime) : tl::unexpected(read.error());
}

TEST(CrioConfig, IsTheMainFileAndEveryDropInWhateverItsName) {
  const ScratchTree tree;
  tree.write(kMain, "[crio.runtime]\ndefault_runtime = \"crun\"\n[crio.runtime.runtimes.crun]\n");
  tree.write("/etc/crio/crio.conf.d/99-nvidia.toml", kNvidia);
  set_changed(tree, "/etc/crio/crio.conf.d/99-nvidia.toml", kRuntimeBoot);
  const auto runtime = runtime_of(tree);
  ASSERT_TRUE(runtime) << runtime.error().what;
  EXPECT_EQ(runtime->handlers,
            (std::vector<RuntimeHandler>{{"nvidia", "/usr/local/nvidia/toolkit/nvidia-container-runtime",
                                          "/etc/crio/crio.conf.d/99-nvidia.toml"}}));
  EXPECT_EQ(runtime->default_runtime, "nvidia");
  EXPECT_EQ(runtime->newest_file, "/etc/crio/crio.conf.d/99-nvidia.toml");
  EXPECT_EQ(runtime->newest_change, kRuntimeBoot);
  EXPECT_TRUE(runtime->cdi_enabled);
  EXPECT_TRUE(runtime->conflicts.empty());
}

TEST(CrioConfig, TakesLaterFilesOverEarlierOnesAndNamesWhatTheyUndo) {
  const ScratchTree tree;
  tree.write("/etc/crio/crio.conf.d/10-nvidia.conf", kNvidia);
  tree.write("/etc/crio/crio.conf.d/20/x.conf",
             "[crio.runtime]\ndefault_runtime = \"crun\"\n[crio.runtime.runtimes.nvidia]\nruntime_type = \"oci\"\n");
  const auto runtime = runtime_of(tree);
  ASSERT_EQ(runtime->handlers.size(), 1U);
  EXPECT_EQ(runtime->handlers[0].binary, "");
  EXPECT_EQ(runtime->default_runtime, "crun");
  ASSERT_EQ(runtime->conflicts.size(), 2U);
  EXPECT_EQ(runtime->conflicts[0].key, "crio.runtime.default_runtime");
  EXPECT_EQ(runtime->conflicts[0].lost, "/etc/crio/crio.conf.d/10-nvidia.conf");
  EXPECT_EQ(runtime->conflicts[1].kept, "/etc/crio/crio.conf.d/20/x.conf");
  EXPECT_EQ(runtime->conflicts[1].effect, "runtime_path of runtime nvidia");
}

TEST(CrioConfig, MayBeNothingAtAll) {
  const ScratchTree tree;
  const auto runtime = runtime_of(tree);
  ASSERT_TRUE(runtime);
  EXPECT_TRUE(runtime->handlers.empty());
  EXPECT_EQ(runtime->default_runtime, "");
}

TEST(CrioConfig, CountsAHookAsAWayToTheGpu) {
  const ScratchTree tree;
  tree.write("/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json", "{}");
  tree.write(kMain, "[crio.runtime]\ncdi_spec_dirs = []\n");
  const auto runtime = runtime_of(tree);
  ASSERT_EQ(runtime->handlers.size(), 1U);
  EXPECT_EQ(runtime->handlers[0].name, "oci-hook");
  EXPECT_FALSE(runtime->cdi_enabled);
}

TEST(CrioConfig, IsUnknownWhereAFileIsNotWhatItShouldBe) {
  const ScratchTree tree;
  tree.write("/etc/crio/crio.conf.d/a.conf", "\n[crio\n");
  EXPECT_TRUE(runtime_of(tree).error().what.starts_with("/etc/crio/crio.conf.d/a.conf:2: not TOML"))
      << runtime_of(tree).error().what;
  tree.remove("/etc/crio/crio.conf.d/a.conf");
  tree.link("/etc/crio/crio.conf.d/gone.conf", "/nowhere");
  EXPECT_EQ(runtime_of(tree).error().code, ErrorCode::NotFound);
  tree.remove("/etc/crio/crio.conf.d/gone.conf");
  tree.write("/etc/crio/crio.conf.d/a/b/c/d/e/f.conf", "");
  EXPECT_EQ(runtime_of(tree).error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
