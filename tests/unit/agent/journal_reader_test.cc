// Journal files written by systemd itself.

#include "agent/kernel_log/journal_reader.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/kernel_log/kernel_entry_count.h"
#include "tests/support/journal.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kBootA = "11111111-2222-3333-4444-555555555555";
constexpr const char* kBootB = "99999999-2222-3333-4444-555555555555";
constexpr const char* kMachine = "/var/log/journal/0123456789abcdef0123456789abcdef/";
const std::string kXid = "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus.";

struct Line {
  LogSource source{};
  std::int64_t since_boot_us = 0;
  std::string text;

  bool operator==(const Line&) const = default;
};

class JournalReaderTest : public ::testing::Test {
 protected:
  void add(const std::vector<JournalEntry>& entries, const std::string& name = "system.journal") const {
    append_to_journal(tree_.path() / (kMachine + name).substr(1), entries);
  }
  Result<JournalRead> read(const std::string& cursor = "", const char* boot = kBootA) {
    lines_.clear();
    return read_journal(root_, JournalQuery{boot, Time{}, cursor}, [this](const JournalLine& line) {
      lines_.push_back({line.source, line.since_boot.count(), std::string(line.text)});
    });
  }

  ScratchTree tree_;
  HostRoot root_ = tree_.root();
  std::vector<Line> lines_;
};

TEST_F(JournalReaderTest, GivesThisBootsLinesOfInterest) {
  add({{kBootB, 5'000'000, "NVRM: Xid (PCI:0000:98:00): 48, of another boot"},
       {kBootA, 1'000'000, "Linux version 6.8.0"},
       {kBootA, 2'000'000, kXid},
       {kBootA, 3'000'000,
        "fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver version "
        "530.41.03.",
        "syslog", "nv-fabricmanager"},
       {kBootA, 4'000'000, "NVRM: Xid (PCI:0000:98:00): 79, of a program that lies", "syslog", "liar"},
       {kBootA, 5'000'000, "NVRM: a\nNVRM: b"}});
  const auto first = read();
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->kernel_lines, 3u);
  EXPECT_EQ(first->newest, std::chrono::seconds(5));
  EXPECT_FALSE(first->more);
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_EQ(lines_[0], (Line{LogSource::Kernel, 2'000'000, kXid}));
  EXPECT_EQ(lines_[1].source, LogSource::FabricManager);
  EXPECT_EQ(lines_[2].text, "NVRM: a\nNVRM: b");
}

TEST_F(JournalReaderTest, GoesOnBehindItsCursor) {
  add({{kBootA, 2'000'000, kXid}});
  const auto first = read();
  ASSERT_TRUE(first);
  ASSERT_TRUE(read(first->cursor));
  EXPECT_TRUE(lines_.empty());
  add({{kBootA, 6'000'000, "NVRM: news"}});
  const auto second = read(first->cursor);
  ASSERT_TRUE(second);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].text, "NVRM: news");
  EXPECT_NE(second->cursor, first->cursor);
}

TEST_F(JournalReaderTest, JoinsWhatARotationTookApart) {
  add({{kBootA, 2'000'000, kXid}}, "system@00000000000000000000000000000001-0000000000000001-0000000000000001.journal");
  add({{kBootA, 3'000'000, "NVRM: b"}});
  add({{kBootA, 3'500'000, "NVRM: of a user's own journal"}}, "user-1000.journal");
  ASSERT_TRUE(read());
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0].text, kXid);
}

TEST_F(JournalReaderTest, GivesADrillAsTheKernelWouldSayIt) {
  // `echo "NVRM: Xid ..." > /dev/kmsg`, as journald stores it.
  add({{kBootA, 2'000'000, kXid.substr(6), "kernel", "NVRM"}});
  ASSERT_TRUE(read());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].text, kXid);
}

TEST_F(JournalReaderTest, SaysWhenThereIsNoneOfThisBoot) {
  EXPECT_EQ(read().error().code, ErrorCode::NotFound);
  add({{kBootB, 2'000'000, kXid}});
  const auto none = read();
  EXPECT_EQ(none.error().code, ErrorCode::NotFound);
  EXPECT_EQ(none.error().what, "the journal has no kernel lines of this boot");
}

TEST_F(JournalReaderTest, DamagedFilesAreAnErrorAndNotTheEndOfUs) {
  tree_.write(std::string(kMachine) + "system.journal", "not a journal");
  EXPECT_FALSE(read());
  tree_.remove(std::string(kMachine) + "system.journal");
  add({{kBootA, 2'000'000, kXid}});
  const auto path = tree_.path() / (kMachine + std::string("system.journal")).substr(1);
  std::filesystem::resize_file(path, 5000);
  EXPECT_FALSE(read());
}

TEST_F(JournalReaderTest, AFifoInTheirPlaceIsNotWaitedFor) {
  tree_.fifo(std::string(kMachine) + "system.journal");
  EXPECT_FALSE(read());
}

TEST_F(JournalReaderTest, TheFileTellsHowManyKernelEntriesItHas) {
  const auto count = [this] { return kernel_entry_count(*root_.open_file(std::string(kMachine) + "system.journal")); };
  add({{kBootA, 1'000'000, "a", "stdout", "kubelet"}});
  EXPECT_EQ(count(), 0u);
  add({{kBootA, 2'000'000, kXid}, {kBootA, 3'000'000, kXid}, {kBootA, 4'000'000, "b", "stdout", "kubelet"}});
  EXPECT_EQ(count(), 2u);
  tree_.write(std::string(kMachine) + "system.journal", std::string(4096, 'x'));
  EXPECT_EQ(count(), std::nullopt);
}

}  // namespace
}  // namespace gpuskew
