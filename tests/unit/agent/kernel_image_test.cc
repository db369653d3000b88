#include "agent/probes/kernel_image.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

std::string release(const ScratchTree& tree, const std::string& path) {
  const auto found = read_image_release(tree.root(), path);
  return found ? found->text() : std::string(to_string(found.error().code));
}

TEST(ImageName, IsAKernelsAndNoRescueImages) {
  for (const char* name : {"vmlinuz-6.1.0-57-amd64", "vmlinux-6.1", "bzImage-6.1", "kernel-6.1-gentoo", "Image-6.1"}) {
    EXPECT_TRUE(is_image_name(name)) << name;
  }
  for (const char* name : {"vmlinuz", "vmlinuz.old", "initrd.img-6.1.0", "config-6.1", "vmlinuz-0-rescue-12ab", ""}) {
    EXPECT_FALSE(is_image_name(name)) << name;
  }
}

TEST(ImageRelease, IsWhatTheHeaderSays) {
  const ScratchTree tree;
  tree.write("/boot/vmlinuz-renamed", bzimage("6.1.0-57-amd64"));
  tree.link("/boot/vmlinuz", "vmlinuz-renamed");
  EXPECT_EQ(release(tree, "/boot/vmlinuz"), "6.1.0-57-amd64");
  tree.write("/boot/vmlinuz-64", bzimage(std::string(64, '6')));
  EXPECT_EQ(release(tree, "/boot/vmlinuz-64"), std::string(64, '6'));
  tree.write("/boot/vmlinuz-65", bzimage(std::string(65, '6')));
  EXPECT_EQ(release(tree, "/boot/vmlinuz-65"), "too-large");
}

TEST(ImageRelease, OfOtherImagesIsTheirNameWhereThatKernelIsInstalled) {
  const ScratchTree tree;
  tree.write("/boot/vmlinuz-6.1.0-57-arm64", "MZ");
  EXPECT_EQ(release(tree, "/boot/vmlinuz-6.1.0-57-arm64"), "not-found");
  tree.directory("/lib/modules/6.1.0-57-arm64");
  EXPECT_EQ(release(tree, "/boot/vmlinuz-6.1.0-57-arm64"), "6.1.0-57-arm64");
  tree.write("/boot/12ab/6.1.0-57-arm64/linux", "MZ");
  EXPECT_EQ(release(tree, "/boot/12ab/6.1.0-57-arm64/linux"), "6.1.0-57-arm64");
  tree.write("/lib/modules/6.1.0-57-arm64/vmlinuz", "MZ");
  EXPECT_EQ(release(tree, "/lib/modules/6.1.0-57-arm64/vmlinuz"), "6.1.0-57-arm64");
  tree.write("/boot/vmlinuz-..", "MZ");
  EXPECT_EQ(release(tree, "/boot/vmlinuz-.."), "not-found");
}

TEST(ImageRelease, IsNoneOfAnEmptyFileOrADanglingLink) {
  const ScratchTree tree;
  tree.write("/boot/vmlinuz-6.1", "");
  EXPECT_EQ(release(tree, "/boot/vmlinuz-6.1"), "malformed");
  tree.link("/boot/vmlinuz-6.2", "/boot/gone");
  EXPECT_EQ(release(tree, "/boot/vmlinuz-6.2"), "not-found");
}

TEST(UnifiedImage, SaysItsKernelInEitherWay) {
  const ScratchTree tree;
  tree.write("/a.efi", unified_image({{".linux", "x"}, {".uname", "6.1.0-57-amd64\n"}, {".osrel", "ID=debian\n"}}));
  tree.write("/b.efi", unified_image({{".linux", bzimage("6.1.0-58-amd64")}}));
  const auto a = read_unified_image(tree.root(), "/a.efi").value();
  EXPECT_EQ(a.release.text(), "6.1.0-57-amd64");
  EXPECT_EQ(a.os_release, "ID=debian\n");
  EXPECT_EQ(read_unified_image(tree.root(), "/b.efi")->release.text(), "6.1.0-58-amd64");
  tree.write("/c.efi", unified_image({{".linux", "x"}}));
  EXPECT_EQ(read_unified_image(tree.root(), "/c.efi").error().code, ErrorCode::NotFound);
}

TEST(UnifiedImage, IsNotEveryPeFileAndSurvivesCutOnes) {
  const ScratchTree tree;
  tree.write("/memtest.efi", unified_image({{".text", "x"}}));
  EXPECT_EQ(read_unified_image(tree.root(), "/memtest.efi").error().code, ErrorCode::Malformed);
  const std::string whole = unified_image({{".linux", "x"}, {".uname", "6.1.0-57-amd64"}});
  for (std::size_t size = 0; size < 0x200; size += 7) {
    tree.write("/cut.efi", whole.substr(0, size));
    EXPECT_FALSE(read_unified_image(tree.root(), "/cut.efi")) << size;
  }
}

}  // namespace
}  // namespace gpuskew
