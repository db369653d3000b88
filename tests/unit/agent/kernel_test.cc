#include "agent/probes/kernel.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

Fact<KernelRelease> release(std::string_view text) {
  return Fact<KernelRelease>::known(KernelRelease::parse(text).value(), "/proc/sys/kernel/osrelease");
}

TEST(KernelRelease, IsUnamesReleaseWithItsSource) {
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/osrelease", "5.15.0-119-generic\n");
  const auto fact = read_kernel_release(tree.root());
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(fact->text(), "5.15.0-119-generic");
  EXPECT_EQ(fact.source(), "/proc/sys/kernel/osrelease");
}

TEST(KernelRelease, TakesSixtyFourCharactersAndNoMore) {
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/osrelease", std::string(64, '6') + "\n");
  EXPECT_EQ(read_kernel_release(tree.root())->text(), std::string(64, '6'));
  tree.write("/proc/sys/kernel/osrelease", std::string(65, '6') + "\n");
  EXPECT_EQ(read_kernel_release(tree.root()).why().code, ErrorCode::TooLarge);
}

TEST(KernelRelease, IsUnknownAndNeverAbsentWithoutProc) {
  const ScratchTree tree;
  const auto fact = read_kernel_release(tree.root());
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().what, "reading /proc/sys/kernel/osrelease: no such file or directory");
}

TEST(KernelRelease, IsUnknownWhenEmptyOrFullOfNulBytes) {
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/osrelease", "\n");
  EXPECT_TRUE(read_kernel_release(tree.root()).is_unknown());
  tree.write("/proc/sys/kernel/osrelease", std::string_view("6.8\0junk\n", 9));
  const auto fact = read_kernel_release(tree.root());
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().code, ErrorCode::Malformed);
}

TEST(BootId, MustBeAUuid) {
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/random/boot_id", "3f1c7a52-8d0e-4b6a-9c41-5e2f7d9a1b60\n");
  EXPECT_EQ(*read_boot_id(tree.root()), "3f1c7a52-8d0e-4b6a-9c41-5e2f7d9a1b60");
  for (const char* bad :
       {"", "3f1c7a52", "3f1c7a52-8d0e-4b6a-9c41-5e2f7d9a1b6z", "3f1c7a5208d0e-4b6a-9c41-5e2f7d9a1b60"}) {
    tree.write("/proc/sys/kernel/random/boot_id", bad);
    EXPECT_EQ(read_boot_id(tree.root()).why().code, ErrorCode::Malformed) << bad;
  }
}

TEST(BootTime, IsTheBtimeLineOfStat) {
  const ScratchTree tree;
  tree.write("/proc/stat", "cpu  1 2 3\nintr 5 0 0\nbtime 1727769600\nprocesses 7\n");
  EXPECT_EQ(to_rfc3339(*read_boot_time(tree.root())), "2024-10-01T08:00:00Z");
}

TEST(BootTime, IsFoundBehindALongInterruptLine) {
  const ScratchTree tree;
  std::string stat = "intr 1";
  for (int index = 0; index < 200'000; ++index) {
    stat += " 0";
  }
  tree.write("/proc/stat", stat + "\nbtime 1727769600\n");
  EXPECT_TRUE(read_boot_time(tree.root()).is_known());
}

TEST(BootTime, IsUnknownWithoutASensibleNumber) {
  const ScratchTree tree;
  for (const char* bad : {"cpu 1\n", "btime\n", "btime 0\n", "btime -4\n", "btime 12x\n",
                          "btime 99999999999999999999\n", "xbtime 1727769600\n", "btime 999999999999\n"}) {
    tree.write("/proc/stat", bad);
    EXPECT_EQ(read_boot_time(tree.root()).why().code, ErrorCode::Malformed) << bad;
  }
}

TEST(Architecture, IsWhatTheKernelSays) {
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/arch", "aarch64\n");
  const auto fact = read_architecture(tree.root(), release("6.8.0"));
  EXPECT_EQ(*fact, "aarch64");
  EXPECT_EQ(fact.source(), "/proc/sys/kernel/arch");
  tree.write("/proc/sys/kernel/arch", "riscv64\n");
  EXPECT_TRUE(read_architecture(tree.root(), release("6.8.0")).is_unknown());
}

TEST(Architecture, IsTheReleasesSuffixOnOlderKernels) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  EXPECT_EQ(*read_architecture(root, release("5.14.0-427.13.1.el9_4.x86_64")), "x86_64");
  EXPECT_EQ(*read_architecture(root, release("5.14.0-503.el9.aarch64+64k")), "aarch64");
  EXPECT_EQ(*read_architecture(root, release("5.14.0-70.rt21.el9.x86_64+rt")), "x86_64");
  EXPECT_TRUE(read_architecture(root, release("5.15.0-x86_64ish")).is_unknown());
}

TEST(Architecture, IsProvenByA64BitInitProgram) {
  const ScratchTree tree;
  std::string program(64, '\0');
  program.replace(0, 7,
                  "\x7f"
                  "ELF\x02\x01\x01");
  program[18] = '\xb7';  // EM_AARCH64
  tree.write("/usr/lib/systemd/systemd", program);
  tree.link("/sbin/init", "/lib/systemd/systemd");
  tree.link("/lib", "usr/lib");
  const auto fact = read_architecture(tree.root(), release("5.15.0-119-generic"));
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_EQ(*fact, "aarch64");
  EXPECT_EQ(fact.source(), "/sbin/init");
}

TEST(Architecture, IsNotGuessedFromA32BitProgramOrNone) {
  const ScratchTree tree;
  EXPECT_TRUE(read_architecture(tree.root(), release("5.15.0-119-generic")).is_unknown());
  std::string program(64, '\0');
  program.replace(0, 7,
                  "\x7f"
                  "ELF\x01\x01\x01");
  program[18] = 3;  // EM_386, which runs on x86_64 kernels too
  tree.write("/bin/sh", program);
  EXPECT_EQ(read_architecture(tree.root(), release("5.15.0")).why().code, ErrorCode::Malformed);
}

}  // namespace
}  // namespace gpuskew
