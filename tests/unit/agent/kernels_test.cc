#include "agent/probes/kernels.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kRelease = "6.1.0-57-amd64";

Fact<std::vector<InstalledKernel>> read(const ScratchTree& tree) {
  ModuleCache cache;
  return read_kernels(tree.root(), cache);
}

std::string tree_of(std::string_view release) {
  return "/lib/modules/" + std::string(release);
}

TEST(Kernels, AreEachTreeAndEachImageByVersion) {
  const ScratchTree tree;
  install_kernel(tree, "6.1.0-57-amd64");
  install_kernel(tree, "6.1.0-9-amd64");
  tree.write(tree_of("6.1.0-9-amd64") + "/updates/dkms/nvidia.ko", elf_module(modinfo_with_version("550.90.07")));
  tree.write("/usr/src/linux-headers-6.1.0-9-amd64/Makefile", "x");
  tree.link(tree_of("6.1.0-9-amd64") + "/build", "/usr/src/linux-headers-6.1.0-9-amd64");
  tree.link(tree_of("6.1.0-57-amd64") + "/build", "/usr/src/linux-headers-6.1.0-57-amd64");  // leads nowhere
  tree.write("/boot/vmlinuz-6.1.0-60-amd64", bzimage("6.1.0-60-amd64"));                     // no tree
  tree.write(tree_of("5.10.0-1-amd64") + "/updates/dkms/nvidia-uvm.ko", "left behind");
  tree.directory("/lib/modules/kabi-current");
  const auto kernels = read(tree);
  ASSERT_TRUE(kernels.is_known());
  ASSERT_EQ(kernels->size(), 4U);
  EXPECT_EQ(kernels->at(0).release.text(), "5.10.0-1-amd64");
  EXPECT_FALSE(kernels->at(0).has_image);
  EXPECT_TRUE(kernels->at(0).module_file.is_absent());
  EXPECT_EQ(kernels->at(1).release.text(), "6.1.0-9-amd64");
  EXPECT_TRUE(kernels->at(1).has_image);
  EXPECT_TRUE(kernels->at(1).has_headers);
  EXPECT_EQ(kernels->at(1).module_file->version->text(), "550.90.07");
  EXPECT_FALSE(kernels->at(2).has_headers);
  EXPECT_TRUE(kernels->at(2).module_file.is_absent());
  EXPECT_EQ(kernels->at(3).release.text(), "6.1.0-60-amd64");
  EXPECT_TRUE(kernels->at(3).has_image);
}

TEST(Kernels, AreFoundThroughLinksToUsr) {
  const ScratchTree tree;
  tree.link("/lib", "usr/lib");
  tree.write("/usr/lib/modules/6.5.6-300.fc39.x86_64/vmlinuz", bzimage("6.5.6-300.fc39.x86_64"));
  const auto kernels = read(tree);
  ASSERT_EQ(kernels->size(), 1U);
  EXPECT_TRUE(kernels->at(0).has_image);
}

TEST(Kernels, HaveImagesOfEveryKindOfLoader) {
  const ScratchTree tree;
  tree.write("/boot/loader/entries/a.conf", loader_entry("a", "1", "/ostree/x/vmlinuz-6.1.1"));
  tree.write("/boot/ostree/x/vmlinuz-6.1.1", bzimage("6.1.1"));
  tree.write("/efi/loader/entries/b.conf", loader_entry("b", "1", "/12ab/6.1.2/linux"));
  tree.write("/efi/12ab/6.1.2/linux", bzimage("6.1.2"));
  tree.write("/boot/efi/EFI/Linux/c.efi", unified_image({{".linux", "x"}, {".uname", "6.1.3"}}));
  tree.write("/boot/vmlinuz-linux", bzimage("6.1.4-arch1-1"));
  tree.write("/boot/vmlinuz-0-rescue-12ab", bzimage("5.0.0"));
  tree.write("/boot/vmlinuz-6.1.5", "");  // half installed
  std::string all;
  const auto kernels = read(tree);
  for (const InstalledKernel& kernel : *kernels) {
    all += kernel.release.text() + (kernel.has_image ? " " : "- ");
  }
  EXPECT_EQ(all, "6.1.1 6.1.2 6.1.3 6.1.4-arch1-1 ");
}

TEST(Kernels, OfAnOstreeDeploymentThatIsNotRunningHaveUnknownModules) {
  const ScratchTree tree;
  tree.write("/run/ostree-booted", "");
  install_kernel(tree, kRelease);
  tree.write("/boot/vmlinuz-6.1.0-60-amd64", bzimage("6.1.0-60-amd64"));
  const auto kernels = read(tree);
  EXPECT_TRUE(kernels->at(0).module_file.is_absent());
  EXPECT_TRUE(kernels->at(1).module_file.is_unknown());
  const auto other = without_modules_of(NextKernel{KernelRelease::parse(kRelease).value(), ""}, kernels);
  EXPECT_TRUE(other->at(0).module_file.is_unknown());
}

TEST(Kernels, AreUnknownWhereAnyPlaceCanNotBeRead) {
  for (const char* place : {"/lib/modules", "/boot", "/boot/loader/entries", "/efi/EFI/Linux"}) {
    const ScratchTree tree;
    install_kernel(tree, kRelease);
    tree.remove(place);
    tree.broken(place);
    EXPECT_TRUE(read(tree).is_unknown()) << place;
  }
  const ScratchTree empty;
  EXPECT_EQ(read(empty).why().what, "neither /lib/modules nor /usr/lib/modules nor /boot is there");
}

TEST(Kernels, BeyondTheLimitAreUnknown) {
  const ScratchTree tree;
  for (std::size_t index = 0; index <= Snapshot::kMaxKernels; ++index) {
    tree.directory(tree_of("6.1." + std::to_string(index)));
  }
  EXPECT_EQ(read(tree).why().code, ErrorCode::TooLarge);
}

TEST(Kernels, KeepOneModulesTroubleToItself) {
  const ScratchTree tree;
  install_kernel(tree, "6.1.1");
  install_kernel(tree, "6.1.2");
  tree.fifo("/lib/modules/6.1.1/updates/nvidia.ko");
  tree.broken("/lib/modules/6.1.2/updates");
  tree.write("/lib/modules/6.1.2/extra/nvidia.ko", "damaged");
  const auto kernels = read(tree);
  EXPECT_TRUE(kernels->at(0).module_file.is_absent());  // a fifo is no module
  ASSERT_TRUE(kernels->at(1).module_file.is_known());
  EXPECT_TRUE(kernels->at(1).module_file->built_for.is_unknown());
}

}  // namespace
}  // namespace gpuskew
