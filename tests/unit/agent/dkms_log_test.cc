#include "agent/probes/dkms_log.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kHead = "DKMS make.log for nvidia-550.90.07 for kernel 6.8.0-41-generic (x86_64)\nFri Mar 1\n";

std::string error_in(std::string_view text) {
  const auto log = parse_dkms_log(kHead + std::string(text));
  return log ? log->error : "no log";
}

TEST(DkmsLog, SaysForWhichKernelItIs) {
  const auto old_form = parse_dkms_log(kHead);
  ASSERT_TRUE(old_form);
  EXPECT_EQ(*old_form, (DkmsLog{"6.8.0-41-generic", "x86_64", ""}));
  const auto new_form =
      parse_dkms_log("DKMS (dkms-3.1.5) make.log for nvidia/575.57.08 for kernel 6.15.2-arch1-1 (x86_64)");
  ASSERT_TRUE(new_form);
  EXPECT_EQ(new_form->kernel, "6.15.2-arch1-1");
}

TEST(DkmsLog, IsNoOtherText) {
  for (const char* text : {"", "make: nothing", "DKMS make.log for x", "DKMS make.log for x for kernel y",
                           "DKMS make.log for x for kernel (y", " (DKMS) make.log for  for kernel "}) {
    EXPECT_FALSE(parse_dkms_log(text)) << text;
  }
}

TEST(DkmsLog, TellsItsFirstError) {
  EXPECT_EQ(error_in("  CC [M] nv.o\nnv-mm.h:88:5: error: too few arguments\nmake[2]: *** [nv.o] Error 1\n"),
            "nv-mm.h:88:5: error: too few arguments");
  EXPECT_EQ(error_in("make[1]: *** /lib/modules/6.8.0-41-generic/build: No such file or directory.  Stop.\n"),
            "make[1]: *** /lib/modules/6.8.0-41-generic/build: No such file or directory.  Stop.");
  EXPECT_EQ(error_in("ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu'\n"),
            "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu'");
  EXPECT_EQ(error_in("sh: line 1: gcc-12: command not found\n"), "sh: line 1: gcc-12: command not found");
  EXPECT_EQ(error_in("  CC [M] nv-error.o\n"), "");
  EXPECT_EQ(error_in(std::string("a\0\x1b[31m error: b\n", 18)), "a??[31m error: b");
}

TEST(DkmsLog, OfAMegabyteIsReadAtItsBeginningAndItsEnd) {
  const ScratchTree tree;
  std::string text = kHead;
  while (text.size() < (1U << 20)) {
    text += "  CC [M]  /var/lib/dkms/nvidia/550.90.07/build/nvidia/nv-something.o\n";
  }
  tree.write("/make.log", text + "nv.c:1:2: error: at the end\n");
  EXPECT_EQ(read_dkms_log(tree.root(), "/make.log").value()->error, "nv.c:1:2: error: at the end");
  tree.write("/empty.log", "");
  EXPECT_FALSE(read_dkms_log(tree.root(), "/empty.log").value());
  EXPECT_EQ(read_dkms_log(tree.root(), "/gone.log").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
