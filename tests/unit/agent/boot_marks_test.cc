#include "agent/probes/boot_marks.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kWants = "/etc/systemd/system/multi-user.target.wants/dkms.service";

TEST(BootBuilders, AreTheServicesThatATargetWants) {
  const ScratchTree tree;
  tree.write("/lib/systemd/system/dkms.service", "[Service]\n");
  EXPECT_TRUE(read_boot_builders(tree.root())->empty());  // installed, not enabled
  tree.link(kWants, "/lib/systemd/system/dkms.service");
  tree.write("/usr/lib/systemd/system/akmods@.service", "[Service]\n");
  tree.link("/usr/lib/systemd/system/sysinit.target.wants/akmods@6.5.service", "../akmods@.service");
  const auto builders = read_boot_builders(tree.root());
  ASSERT_EQ(builders->size(), 2U);
  EXPECT_EQ(builders->at(0), (BootBuilder{"dkms", kWants}));
  EXPECT_EQ(builders->at(1).name, "akmods");
}

TEST(BootBuilders, AreNoneWhereTheUnitIsMaskedOrGone) {
  const ScratchTree tree;
  tree.link(kWants, "/lib/systemd/system/dkms.service");
  EXPECT_TRUE(read_boot_builders(tree.root())->empty());
  tree.write("/lib/systemd/system/dkms.service", "[Service]\n");
  EXPECT_EQ(read_boot_builders(tree.root())->size(), 1U);
  tree.link("/etc/systemd/system/dkms.service", "/dev/null");
  EXPECT_TRUE(read_boot_builders(tree.root())->empty());
}

TEST(BootBuilders, AreUnknownWithoutSystemdsDirectories) {
  const ScratchTree tree;
  EXPECT_TRUE(read_boot_builders(tree.root()).is_unknown());
  tree.broken("/etc/systemd/system");
  EXPECT_TRUE(read_boot_builders(tree.root()).is_unknown());
}

TEST(RebootRequiredMark, NamesThePackagesOnceEach) {
  const ScratchTree tree;
  EXPECT_TRUE(read_reboot_required(tree.root()).is_unknown());
  tree.directory("/run");
  EXPECT_TRUE(read_reboot_required(tree.root()).is_absent());
  tree.write("/run/reboot-required", "*** System restart required ***\n");
  EXPECT_TRUE(read_reboot_required(tree.root())->packages.empty());
  tree.write("/run/reboot-required.pkgs", "linux-image-5.15.0-122-generic\nlibc6\nlibc6\n\n\x1b[31m\nlinux-base");
  const auto required = read_reboot_required(tree.root());
  EXPECT_EQ(required->packages, (std::vector<std::string>{"linux-image-5.15.0-122-generic", "libc6", "linux-base"}));
  EXPECT_EQ(required.source(), "/run/reboot-required");
}

TEST(RebootRequiredMark, IsFoundUnderVarRunAndOnSuse) {
  const ScratchTree tree;
  tree.write("/var/run/reboot-required", "x");
  EXPECT_TRUE(read_reboot_required(tree.root()).is_known());
  const ScratchTree suse;
  suse.write("/run/reboot-needed", "");
  EXPECT_TRUE(read_reboot_required(suse.root()).is_known());
  const ScratchTree odd;
  odd.broken("/run/reboot-required");
  EXPECT_TRUE(read_reboot_required(odd.root()).is_unknown());
}

}  // namespace
}  // namespace gpuskew
