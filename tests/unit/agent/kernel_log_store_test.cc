#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/kernel_log/store.h"
#include "core/kernel_log.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr Time kBootTime = from_unix_ms(1'790'000'000'000);

KernelLogState sample() {
  KernelLogScanner scanner;
  for (const char* line : {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31",
                           "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus.",
                           "nvidia: version magic 'a\tb' should be 'c\nd'"}) {
    scanner.feed(kBootTime + std::chrono::seconds(5), LogSource::Kernel, line);
  }
  return {"boot-a", kBootTime, std::chrono::microseconds(5'000'001), "s=1;i=2", scanner.events()};
}

TEST(KernelLogStoreTest, GivesBackWhatWasSaved) {
  const ScratchTree tree;
  const KernelLogStore store(tree.path());
  EXPECT_EQ(store.load().error().code, ErrorCode::NotFound);
  ASSERT_TRUE(store.save(sample()));
  EXPECT_EQ(store.load(), sample());
}

TEST(KernelLogStoreTest, SaysWhyItDoesNotRead) {
  const ScratchTree tree;
  tree.write("/kernel-log", "rubbish");
  const auto loaded = KernelLogStore(tree.path()).load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::Malformed);
  EXPECT_NE(loaded.error().what.find("kernel-log: it is not a kernel-log file"), std::string::npos)
      << loaded.error().what;
}

TEST(KernelLogStoreTest, AChangedByteIsFound) {
  const std::string good = encode_kernel_log(sample());
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(decode_kernel_log(bad)) << i;
    EXPECT_FALSE(decode_kernel_log(good.substr(0, i))) << i;
  }
}

RC_GTEST_PROP(KernelLogStoreProperty, AnyTextIsTakenOrRefused, (const std::string& text)) {
  const auto state = decode_kernel_log(text);
  RC_ASSERT(state || !state.error().what.empty());
}

}  // namespace
}  // namespace gpuskew
