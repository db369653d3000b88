#include "agent/kernel_log/kernel_log_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/journal.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr const char* kBoot = "11111111-2222-3333-4444-555555555555";
constexpr Time kBootTime = from_unix_ms(1'790'000'000'000);
constexpr Time kNow = kBootTime + 1h;
const std::string kLoading = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024";
const std::string kXid = "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus.";

class KernelLogReaderTest : public ::testing::Test {
 protected:
  KernelLogReaderTest() { boot(kBoot); }

  void boot(const char* id) const {
    tree_.write("/proc/sys/kernel/random/boot_id", std::string(id) + "\n");
    tree_.write("/proc/stat", "btime 1790000000\n");
  }
  void log(std::uint64_t since_boot_us, const std::string& line, const char* boot_id = kBoot) const {
    append_to_journal(tree_.path() / "var/log/journal/0123456789abcdef0123456789abcdef/system.journal",
                      {{boot_id, since_boot_us, line}});
  }
  KernelLogReader start() { return KernelLogReader(root_, KernelLogStore(own_.path())); }

  ScratchTree tree_;
  ScratchTree own_;
  HostRoot root_ = tree_.root();
};

TEST_F(KernelLogReaderTest, ReadsTheJournalOfThisBoot) {
  log(5'000'000, kLoading);
  log(9'000'000, kXid);
  const auto fact = read_kernel_log(root_, kNow);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  ASSERT_EQ(fact->size(), 2u);
  EXPECT_EQ(fact.source(), "journal");
  EXPECT_EQ((*fact)[1].kind, KernelLogKind::FellOffBus);
  EXPECT_EQ((*fact)[1].last_at, kBootTime + 9s);
}

TEST_F(KernelLogReaderTest, WithoutASourceItIsUnknownAndSaysWhy) {
  const auto fact = read_kernel_log(root_, kNow);
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_NE(fact.why().what.find("no journal files of this boot in /var/log/journal"), std::string::npos);
  EXPECT_NE(fact.why().what.find("/dev/kmsg"), std::string::npos);
  tree_.remove("/proc/sys/kernel/random/boot_id");
  EXPECT_TRUE(read_kernel_log(root_, kNow).is_unknown());
}

TEST_F(KernelLogReaderTest, ARestartNeitherForgetsNorCountsTwice) {
  log(5'000'000, kXid);
  {
    KernelLogReader reader = start();
    EXPECT_TRUE(reader.update(kNow));
  }
  log(6'000'000, kXid);
  KernelLogReader reader = start();
  reader.update(kNow + 1min);
  ASSERT_EQ(reader.fact(kNow + 1min)->size(), 1u);
  EXPECT_EQ(reader.fact(kNow + 1min)->front().count, 2u);
  EXPECT_EQ(reader.take_warning(), "");
}

TEST_F(KernelLogReaderTest, ACorruptStateFileIsToldAndTheBootReadAnew) {
  log(5'000'000, kXid);
  own_.write("/kernel-log", "rubbish");
  KernelLogReader reader = start();
  EXPECT_NE(reader.take_warning().find("the kernel log is read anew"), std::string::npos);
  EXPECT_EQ(reader.take_warning(), "");
  reader.update(kNow);
  EXPECT_EQ(reader.fact(kNow)->size(), 1u);
}

TEST_F(KernelLogReaderTest, AnotherBootBeginsWithNothing) {
  log(5'000'000, kXid);
  start().update(kNow);
  boot("99999999-2222-3333-4444-555555555555");
  log(1'000'000, "Linux version 6.8.0", "99999999-2222-3333-4444-555555555555");
  KernelLogReader reader = start();
  reader.update(kNow + 1min);
  ASSERT_TRUE(reader.fact(kNow + 1min).is_known());
  EXPECT_TRUE(reader.fact(kNow + 1min)->empty());
}

TEST_F(KernelLogReaderTest, MereRepetitionChangesTheFactOnceAMinute) {
  log(5'000'000, kXid);
  KernelLogReader reader = start();
  reader.update(kNow);
  EXPECT_EQ(reader.fact(kNow)->front().count, 1u);
  log(6'000'000, kXid);
  reader.journal_changed();
  EXPECT_FALSE(reader.follow(kNow + 1s)) << "no news";
  EXPECT_EQ(reader.fact(kNow + 1s)->front().count, 1u);
  EXPECT_EQ(reader.fact(kNow + 1min)->front().count, 2u);
}

TEST_F(KernelLogReaderTest, NewsChangeTheFactAtOnce) {
  log(5'000'000, kXid);
  KernelLogReader reader = start();
  reader.update(kNow);
  reader.fact(kNow);
  log(6'000'000, kLoading);
  reader.journal_changed();
  EXPECT_TRUE(reader.follow(kNow + 1s));
  EXPECT_EQ(reader.fact(kNow + 1s)->size(), 2u);
}

TEST_F(KernelLogReaderTest, AJournalThatChangesAllTheTimeIsReadFourTimesAMinute) {
  log(5'000'000, kXid);
  KernelLogReader reader = start();
  reader.update(kNow);
  EXPECT_EQ(reader.until_journal_read(kNow), Duration{});
  int reads = 1;
  for (Time now = kNow; now < kNow + 1min; now += 100ms) {
    reader.journal_changed();
    if (reader.until_journal_read(now) == Duration{}) {
      reader.follow(now);
      ++reads;
    }
  }
  EXPECT_LE(reads, 5);
  EXPECT_GT(reader.until_journal_read(kNow + 30s), Duration{});
}

TEST_F(KernelLogReaderTest, SaysWhichSourcesItHas) {
  log(5'000'000, kXid);
  KernelLogReader reader = start();
  reader.update(kNow);
  EXPECT_EQ(reader.sources().find("journal; no /dev/kmsg: "), 0u) << reader.sources();
  EXPECT_EQ(reader.kmsg_descriptor(), std::nullopt);
}

TEST_F(KernelLogReaderTest, AStateThatCanNotBeKeptIsOneWarning) {
  log(5'000'000, kXid);
  KernelLogReader reader(root_, KernelLogStore(own_.path() / "missing"));
  reader.update(kNow);
  EXPECT_NE(reader.take_warning().find("read anew after a restart"), std::string::npos);
  log(6'000'000, kLoading);
  reader.journal_changed();
  reader.follow(kNow + 1s);
  EXPECT_EQ(reader.take_warning(), "");
}

}  // namespace
}  // namespace gpuskew
