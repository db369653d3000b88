#include "agent/probes/wsl.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

Fact<KernelRelease> kernel(const char* release) {
  return Fact<KernelRelease>::known(KernelRelease::parse(release).value(), "/proc/sys/kernel/osrelease");
}

TEST(Wsl, IsToldByMicrosoftsNameOfTheKernel) {
  const ScratchTree tree;
  const auto fact = read_wsl(tree.root(), kernel("5.15.153.1-microsoft-standard-WSL2"));
  EXPECT_EQ(*fact, "5.15.153.1-microsoft-standard-WSL2");
  EXPECT_EQ(fact.source(), "/proc/sys/kernel/osrelease");
  EXPECT_TRUE(read_wsl(tree.root(), kernel("4.4.0-19041-Microsoft")).is_known());
}

TEST(Wsl, IsNotAzure) {
  const ScratchTree tree;
  for (const char* release : {"5.15.0-1064-azure", "6.6.57.1-2.azl3", "5.15.0-119-generic"}) {
    EXPECT_TRUE(read_wsl(tree.root(), kernel(release)).is_absent()) << release;
  }
}

TEST(Wsl, OfAKernelBuiltByHandIsToldByItsGpuAndLibraries) {
  const ScratchTree tree;
  tree.write("/dev/dxg", "");
  EXPECT_TRUE(read_wsl(tree.root(), kernel("6.9.1-mine")).is_absent()) << "a guest of Hyper-V may have the device";
  tree.directory("/usr/lib/wsl/lib");
  EXPECT_EQ(*read_wsl(tree.root(), kernel("6.9.1-mine")), "6.9.1-mine");
}

TEST(Wsl, IsUnknownWhereTheKernelIs) {
  const ScratchTree tree;
  const auto unread = Fact<KernelRelease>::unknown({ErrorCode::Denied, "permission denied"}, "/proc");
  EXPECT_TRUE(read_wsl(tree.root(), unread).is_unknown());
}

}  // namespace
}  // namespace gpuskew
