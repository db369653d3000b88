#include "agent/probes/module_file.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/compressed.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kTree = "/lib/modules/5.15.0-119-generic";

Fact<KernelRelease> kernel(std::string_view text = "5.15.0-119-generic") {
  return Fact<KernelRelease>::known(KernelRelease::parse(text).value(), "/proc/sys/kernel/osrelease");
}

std::string in_tree(std::string_view path) {
  return std::string(kTree) + "/" + std::string(path);
}

void write_module(const ScratchTree& tree, std::string_view path, std::string_view version = "550.90.07") {
  tree.write(in_tree(path), elf_module(modinfo_with_version(version)));
}

Fact<ModuleFile> read(const ScratchTree& tree) {
  ModuleCache cache;
  return read_module_file(tree.root(), kernel(), cache);
}

TEST(ModuleFile, IsFoundInEachPlaceInstallersPutIt) {
  for (const char* path : {"updates/dkms/nvidia.ko", "updates/nvidia.ko", "kernel/drivers/video/nvidia.ko",
                           "kernel/nvidia-580-open/nvidia.ko", "kernel/drivers/char/drm/nvidia.ko", "extra/nvidia.ko",
                           "extra/nvidia/nvidia.ko", "extra/drivers/video/nvidia/nvidia.ko", "weak-updates/nvidia.ko",
                           "weak-updates/nvidia/nvidia.ko", "updates/dkms/nvidia-current.ko",
                           "updates/dkms/nvidia_352.ko", "video/nvidia.ko"}) {
    const ScratchTree tree;
    write_module(tree, path);
    const auto fact = read(tree);
    ASSERT_TRUE(fact.is_known()) << path;
    EXPECT_EQ(fact->path, in_tree(path));
    EXPECT_EQ(fact->version->text(), "550.90.07") << path;
    EXPECT_EQ(fact.source(), kTree);
  }
}

TEST(ModuleFile, SaysForWhichKernelAndOfWhichFlavourItIs) {
  const ScratchTree tree;
  write_module(tree, "updates/dkms/nvidia.ko");
  EXPECT_EQ(read(tree)->built_for->text(), "5.15.0-119-generic");
  EXPECT_EQ(*read(tree)->flavour, ModuleFlavour::Proprietary);
  EXPECT_EQ(read(tree)->built_for.source(), in_tree("updates/dkms/nvidia.ko"));
}

TEST(ModuleFile, OfAWeakUpdatesLinkIsBuiltForAnotherKernel) {
  const ScratchTree tree;
  const std::string module =
      elf_module(std::string("version=550.90.07\0license=Dual MIT/GPL\0"
                             "vermagic=5.14.0-427.13.1.el9_4.x86_64 SMP preempt mod_unload \0",
                             99));
  tree.write("/lib/modules/5.14.0-427.13.1.el9_4.x86_64/extra/nvidia/nvidia.ko.xz", xzipped(module));
  tree.link("/lib/modules/5.14.0-427.16.1.el9_4.x86_64/weak-updates/nvidia/nvidia.ko.xz",
            "/lib/modules/5.14.0-427.13.1.el9_4.x86_64/extra/nvidia/nvidia.ko.xz");
  ModuleCache cache;
  const auto fact = read_module_file(tree.root(), kernel("5.14.0-427.16.1.el9_4.x86_64"), cache);
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(fact->path, "/lib/modules/5.14.0-427.16.1.el9_4.x86_64/weak-updates/nvidia/nvidia.ko.xz");
  EXPECT_EQ(fact->built_for->text(), "5.14.0-427.13.1.el9_4.x86_64");
  EXPECT_EQ(*fact->flavour, ModuleFlavour::Open);
}

TEST(ModuleFile, IsTheOneThatModulesDepNames) {
  const ScratchTree tree;
  write_module(tree, "updates/dkms/nvidia.ko", "535.183.01");
  write_module(tree, "kernel/nvidia-550/nvidia.ko", "550.90.07");
  tree.write(in_tree("modules.dep"), "kernel/drivers/video/fbdev/nvidia/nvidiafb.ko: kernel/nvidia-535/nvidia.ko\n" +
                                         std::string("kernel/nvidia-550/nvidia-uvm.ko: kernel/nvidia-550/nvidia.ko\n") +
                                         "kernel/nvidia-550/nvidia.ko:\n");
  EXPECT_EQ(read(tree)->path, in_tree("kernel/nvidia-550/nvidia.ko"));
}

TEST(ModuleFile, IsFoundInALargeModulesDepAcrossBlocks) {
  const ScratchTree tree;
  write_module(tree, "odd/place/nvidia.ko");
  std::string dependencies;
  while (dependencies.size() < 300'000) {
    dependencies += "kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko: kernel/net/core.ko\n";
  }
  tree.write(in_tree("modules.dep"), dependencies + "odd/place/nvidia.ko: kernel/x.ko\n" + dependencies);
  EXPECT_EQ(read(tree)->path, in_tree("odd/place/nvidia.ko"));
}

TEST(ModuleFile, IsUnknownWhereModprobeWouldNotFindIt) {
  const ScratchTree tree;
  tree.write(in_tree("modules.dep"), "updates/dkms/nvidia.ko:\n");
  EXPECT_TRUE(read(tree).is_absent());
  write_module(tree, "extra/nvidia.ko");
  ASSERT_TRUE(read(tree).is_unknown()) << "depmod has not run since";
  EXPECT_NE(read(tree).why().what.find("extra/nvidia.ko is there and"), std::string::npos) << read(tree).why().what;
  EXPECT_NE(read(tree).why().what.find("depmod"), std::string::npos) << read(tree).why().what;
  tree.write(in_tree("modules.dep"), "extra/nvidia.ko:\n");
  EXPECT_EQ(read(tree)->path, in_tree("extra/nvidia.ko"));
}

TEST(ModuleFile, FollowsModprobesOrderWithoutModulesDep) {
  const ScratchTree tree;
  write_module(tree, "weak-updates/nvidia.ko", "1.1");
  EXPECT_EQ(read(tree)->path, in_tree("weak-updates/nvidia.ko"));
  write_module(tree, "kernel/nvidia-550/nvidia.ko");
  EXPECT_EQ(read(tree)->path, in_tree("kernel/nvidia-550/nvidia.ko"));
  write_module(tree, "extra/nvidia.ko");
  EXPECT_EQ(read(tree)->path, in_tree("extra/nvidia.ko"));
  write_module(tree, "updates/nvidia.ko");
  EXPECT_EQ(read(tree)->path, in_tree("updates/nvidia.ko"));
}

TEST(ModuleFile, IsNotALinkThatLeadsNowhere) {
  const ScratchTree tree;
  tree.link(in_tree("weak-updates/nvidia.ko"), "/lib/modules/5.15.0-100-generic/extra/nvidia.ko");
  EXPECT_TRUE(read(tree).is_absent());
  tree.write("/lib/modules/5.15.0-100-generic/extra/nvidia.ko", elf_module(modinfo_with_version("550.90.07")));
  EXPECT_EQ(read(tree)->version->text(), "550.90.07");
}

TEST(ModuleFile, IsAbsentWithoutADirectoryForTheKernel) {
  const ScratchTree tree;
  tree.write("/lib/modules/5.15.0-100-generic/updates/dkms/nvidia.ko", "x");
  const auto fact = read(tree);
  EXPECT_TRUE(fact.is_absent());
  EXPECT_EQ(fact.source(), kTree);
}

TEST(ModuleFile, IsUnknownWithoutAnyModulesAtAll) {
  const ScratchTree tree;
  tree.directory("/usr/lib");
  EXPECT_EQ(read(tree).why().what, "neither /lib/modules nor /usr/lib/modules is there");
  tree.directory("/usr/lib/modules");
  EXPECT_TRUE(read(tree).is_absent());
}

TEST(ModuleFile, IsLookedForInUsrLibModulesToo) {
  const ScratchTree tree;
  tree.write("/usr/lib/modules/5.15.0-119-generic/updates/nvidia.ko.zst",
             zstandard(elf_module(modinfo_with_version("580.142"))));
  const auto fact = read(tree);
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(fact->path, "/usr/lib/modules/5.15.0-119-generic/updates/nvidia.ko.zst");
  EXPECT_EQ(fact->version->text(), "580.142");
}

TEST(ModuleFile, StaysKnownWhenItsVersionIsNot) {
  const ScratchTree tree;
  tree.write(in_tree("updates/dkms/nvidia.ko"), "damaged");
  const auto fact = read(tree);
  ASSERT_TRUE(fact.is_known());
  EXPECT_TRUE(fact->version.is_unknown());
  EXPECT_EQ(fact->version.source(), in_tree("updates/dkms/nvidia.ko"));
}

TEST(ModuleFile, IsUnknownWhenTheTreeCanNotBeRead) {
  const ScratchTree tree;
  tree.broken(kTree);
  EXPECT_TRUE(read(tree).is_unknown());
}

TEST(ModuleFile, IsUnknownWhenAPlaceThatComesFirstCanNotBeSearched) {
  const ScratchTree tree;
  write_module(tree, "extra/nvidia.ko");
  tree.broken(in_tree("updates/nvidia.ko"));
  const auto fact = read(tree);
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_NE(fact.why().what.find(in_tree("updates/nvidia.ko")), std::string::npos) << fact.why().what;
}

TEST(ModuleFile, IsUnknownWhenItsOwnPlaceCanNotBeSearchedWhole) {
  const ScratchTree tree;
  write_module(tree, "extra/a/nvidia.ko");
  tree.broken(in_tree("extra/b/nvidia.ko"));
  EXPECT_TRUE(read(tree).is_unknown());
}

TEST(ModuleFile, IsKnownThoughAPlaceThatComesLaterCanNotBeSearched) {
  const ScratchTree tree;
  write_module(tree, "updates/nvidia.ko");
  tree.broken(in_tree("extra/nvidia.ko"));
  ASSERT_TRUE(read(tree).is_known());
  EXPECT_EQ(read(tree)->path, in_tree("updates/nvidia.ko"));
}

TEST(ModuleFile, IsUnknownWhenModulesDepCanNotBeRead) {
  const ScratchTree tree;
  write_module(tree, "updates/nvidia.ko");
  tree.broken(in_tree("modules.dep"));
  const auto fact = read(tree);
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_NE(fact.why().what.find(in_tree("modules.dep")), std::string::npos) << fact.why().what;
  tree.remove(in_tree("modules.dep"));
  tree.write(in_tree("modules.dep"), std::string(1U << 20, 'x'));
  EXPECT_EQ(read(tree).why().code, ErrorCode::Malformed);
  tree.remove(in_tree("modules.dep"));
  EXPECT_TRUE(read(tree).is_known());
}

TEST(ModuleFile, IsUnknownWhenTheOneThatModulesDepNamesCanNotBeLookedAt) {
  const ScratchTree tree;
  tree.write(in_tree("modules.dep"), "updates/nvidia.ko:\n");
  tree.broken(in_tree("updates/nvidia.ko"));
  write_module(tree, "extra/nvidia.ko");
  EXPECT_TRUE(read(tree).is_unknown());
}

TEST(ModuleFile, IsUnknownWhenTheTreeIsTooLargeToSearch) {
  const ScratchTree tree;
  for (int index = 0; index < 600; ++index) {
    tree.directory(in_tree("updates/d" + std::to_string(index)));
  }
  const auto fact = read(tree);
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().code, ErrorCode::TooLarge);
}

TEST(ModuleFile, DoesNotFollowDirectoryLinksInACircle) {
  const ScratchTree tree;
  tree.link(in_tree("updates/again"), "..");
  tree.link(in_tree("build"), "/usr/src/linux-headers");
  write_module(tree, "updates/z/nvidia.ko");
  EXPECT_EQ(read(tree)->path, in_tree("updates/z/nvidia.ko"));
}

TEST(ModuleFile, IsUnknownWithoutAKernelOrWithOneThatIsNoName) {
  const ScratchTree tree;
  ModuleCache cache;
  EXPECT_TRUE(read_module_file(tree.root(), Fact<KernelRelease>(), cache).is_unknown());
  EXPECT_TRUE(read_module_file(tree.root(), kernel("../../etc"), cache).is_unknown());
  EXPECT_TRUE(read_module_file(tree.root(), kernel(".."), cache).is_unknown());
}

TEST(ModuleFile, TakesAReleaseOf64Characters) {
  const ScratchTree tree;
  const std::string release(64, 'k');
  tree.write("/lib/modules/" + release + "/updates/nvidia.ko", elf_module(modinfo_with_version("550.90.07")));
  ModuleCache cache;
  EXPECT_TRUE(read_module_file(tree.root(), kernel(release), cache).is_known());
}

}  // namespace
}  // namespace gpuskew
