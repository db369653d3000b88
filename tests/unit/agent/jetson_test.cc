#include "agent/probes/jetson.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

Fact<KernelRelease> kernel(std::string_view text) {
  return Fact<KernelRelease>::known(KernelRelease::parse(text).value(), "/proc/sys/kernel/osrelease");
}

TEST(L4tRelease, IsWhatTheModulePrintsInTheDriversPlace) {
  const auto fact = read_l4t_release(host_fixture("jetson"), kernel("5.10.104-tegra"));
  EXPECT_EQ(*fact, "35.3.1");
  EXPECT_EQ(fact.source(), "/proc/driver/nvidia/version");
}

TEST(L4tRelease, IsReadFromTheReleaseFile) {
  const ScratchTree tree;
  tree.write("/etc/nv_tegra_release",
             "# R32 (release), REVISION: 7.3, GCID: 31982016, BOARD: t210ref, EABI: aarch64\n");
  EXPECT_EQ(*read_l4t_release(tree.root(), kernel("4.9.299-tegra")), "32.7.3");
}

TEST(L4tRelease, IsOnlyThePlatformWhenTheReleaseFileIsOdd) {
  const ScratchTree tree;
  for (const char* odd : {"", "# R (release), REVISION: 7.3,", "# R32 (release)", "# R32; REVISION: x"}) {
    tree.write("/etc/nv_tegra_release", odd);
    EXPECT_EQ(*read_l4t_release(tree.root(), kernel("4.9.299-tegra")), "tegra") << odd;
  }
}

TEST(L4tRelease, IsReadFromTheModulesNewerNumberingToo) {
  const ScratchTree tree;  // JetPack 6 prints 540.3.0, the release is elsewhere
  tree.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.3.0  Release Build  "
             "(buildbrain@mobile-u64-6336-d8000)  Wed May  1 02:51:46 PDT 2024\n");
  EXPECT_EQ(*read_l4t_release(tree.root(), kernel("5.15.136-custom")), "tegra");
  tree.write("/etc/nv_tegra_release", "# R36 (release), REVISION: 3.0, GCID: 36923193, BOARD: generic\n");
  EXPECT_EQ(*read_l4t_release(tree.root(), kernel("5.15.136-custom")), "36.3.0");
}

TEST(L4tRelease, IsThePlatformWhereOnlyTheDeviceTreeProvesIt) {
  const ScratchTree tree;
  tree.write("/sys/firmware/devicetree/base/compatible", std::string_view("nvidia,p3737\0nvidia,tegra234\0", 29));
  const auto fact = read_l4t_release(tree.root(), kernel("6.8.0-custom"));
  EXPECT_EQ(*fact, "tegra");
  EXPECT_EQ(fact.source(), "/sys/firmware/devicetree/base/compatible");
}

TEST(L4tRelease, IsAbsentOnOtherMachines) {
  const ScratchTree tree;
  tree.write("/sys/firmware/devicetree/base/compatible", std::string_view("raspberrypi,4\0", 14));
  tree.write("/var/lib/dpkg/status", "Package: nvidia-l4t-core\nVersion: 32.7.3-1\n");
  EXPECT_TRUE(read_l4t_release(tree.root(), kernel("5.15.0-119-generic")).is_absent());
}

TEST(L4tRelease, IsUnknownWhereNotEvenTheKernelIsKnown) {
  const ScratchTree tree;
  EXPECT_TRUE(read_l4t_release(tree.root(), Fact<KernelRelease>()).is_unknown());
}

TEST(L4tRelease, IsUnknownWhenTheReleaseFileCanNotBeRead) {
  const ScratchTree tree;
  tree.broken("/etc/nv_tegra_release");
  EXPECT_TRUE(read_l4t_release(tree.root(), kernel("5.15.0-119-generic")).is_unknown());
}

}  // namespace
}  // namespace gpuskew
