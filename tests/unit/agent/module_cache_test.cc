#include "agent/probes/module_cache.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/compressed.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

TEST(ModuleName, IsWhatDistributionsCallTheModuleItself) {
  for (const char* name : {"nvidia.ko", "nvidia.ko.xz", "nvidia.ko.zst", "nvidia.ko.gz", "nvidia-current.ko",
                           "nvidia_352.ko", "nvidia-352.ko", "nvidia-current-open.ko", "nvidia-tesla-470.ko",
                           "nvidia-legacy-390xx.ko", "nvidia-srv.ko", "nvidia-535srv.ko", "nvidia-550-open.ko.zst"}) {
    EXPECT_TRUE(is_nvidia_module_name(name)) << name;
  }
}

TEST(ModuleName, IsNoOtherModuleOfTheDriverNorOfTheKernel) {
  for (const char* name :
       {"nvidia-uvm.ko", "nvidia_uvm.ko", "nvidia-drm.ko", "nvidia-modeset.ko.zst", "nvidia-peermem.ko",
        "nvidia-current-uvm.ko", "nvidia-wmi-ec-backlight.ko", "nvidiafb.ko", "i2c-nvidia-gpu.ko", "nvidia",
        "nvidia.ko.bak", "nvidia-.ko", "nvidia--current.ko", "nvidia-352x.ko", "nvidia.o", ""}) {
    EXPECT_FALSE(is_nvidia_module_name(name)) << name;
  }
}

TEST(ModuleCache, KnowsAFileByAnyOfItsNames) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  tree.write("/a/nvidia.ko.zst", zstandard(elf_module(modinfo_with_version("550.90.07"))));
  tree.link("/b/nvidia.ko.zst", "/a/nvidia.ko.zst");
  ModuleCache cache;
  EXPECT_EQ(cache.identity(root, "/a/nvidia.ko.zst").version->text(), "550.90.07");
  EXPECT_EQ(cache.identity(root, "/b/nvidia.ko.zst").version->text(), "550.90.07");
}

TEST(ModuleCache, NamesTheFileInEachError) {
  const ScratchTree tree;
  tree.write("/nvidia.ko", "not a module");
  ModuleCache cache;
  const ModuleIdentity identity = cache.identity(tree.root(), "/nvidia.ko");
  EXPECT_EQ(identity.version.error().what, "reading /nvidia.ko: cut off inside its ELF header");
  EXPECT_EQ(identity.flavour.error().what, identity.version.error().what);
}

TEST(ModuleCache, ReadsModulesDepAgainWhenItChanged) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  ModuleCache cache;
  EXPECT_TRUE(cache.named_in_dependencies(root, "/modules.dep")->empty());
  tree.write("/modules.dep", "kernel/a.ko: kernel/nvidia.ko\nupdates/nvidia.ko: kernel/a.ko\n");
  EXPECT_EQ(*cache.named_in_dependencies(root, "/modules.dep"), std::vector<std::string>{"updates/nvidia.ko"});
  tree.write("/modules.dep", "kernel/a.ko: kernel/nvidia.ko\n");
  EXPECT_TRUE(cache.named_in_dependencies(root, "/modules.dep")->empty());
}

TEST(ModuleCache, ReadsAFileAgainOnlyWhenItChanged) {
  const ScratchTree tree;
  tree.write("/nvidia.ko", elf_module(modinfo_with_version("535.183.01")));
  const HostRoot root = tree.root();
  ModuleCache cache;
  EXPECT_EQ(cache.identity(root, "/nvidia.ko").version->text(), "535.183.01");
  const auto when = std::filesystem::last_write_time(tree.path() / "nvidia.ko");
  tree.write("/nvidia.ko", elf_module(modinfo_with_version("535.183.06")));
  // The same inode, size and time: the same file, as far as the cache can know.
  std::filesystem::last_write_time(tree.path() / "nvidia.ko", when);
  EXPECT_EQ(cache.identity(root, "/nvidia.ko").version->text(), "535.183.01");
  std::filesystem::last_write_time(tree.path() / "nvidia.ko", when + std::chrono::nanoseconds(1));
  EXPECT_EQ(cache.identity(root, "/nvidia.ko").version->text(), "535.183.06");
}

TEST(ModuleCache, SeesAReplacedFileAndAGoneOne) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  ModuleCache cache;
  EXPECT_EQ(cache.identity(root, "/nvidia.ko").version.error().code, ErrorCode::NotFound);
  tree.write("/nvidia.ko", elf_module(modinfo_with_version("535.183.01")));
  EXPECT_EQ(cache.identity(root, "/nvidia.ko").version->text(), "535.183.01");
  tree.remove("/nvidia.ko");
  EXPECT_EQ(cache.identity(root, "/nvidia.ko").version.error().code, ErrorCode::NotFound);
}

TEST(ModuleCache, StaysBoundedAndRight) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  ModuleCache cache;
  for (std::size_t index = 0; index < 3 * ModuleCache::kMaxFiles; ++index) {
    const std::string number = std::to_string(100 + index);
    tree.write("/" + number, elf_module(modinfo_with_version(number + ".1")));
    EXPECT_EQ(cache.identity(root, "/" + number).version->text(), number + ".1");
  }
}

TEST(ModuleCache, GivesAFailureUpAfterSomeAttempts) {
  const ScratchTree tree;
  tree.write("/nvidia.ko.xz", std::string("\xfd"
                                          "7zXZ\0",
                                          6));
  const HostRoot root = tree.root();
  ModuleCache cache;
  for (int attempt = 0; attempt < 2 * ModuleCache::kMaxAttempts; ++attempt) {
    EXPECT_EQ(cache.identity(root, "/nvidia.ko.xz").version.error().code, ErrorCode::Malformed);
  }
}

}  // namespace
}  // namespace gpuskew
