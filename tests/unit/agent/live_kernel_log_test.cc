#include "agent/kernel_log/live_kernel_log.h"

#include <chrono>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "agent/kernel_log/kernel_log_reader.h"
#include "tests/support/journal.h"
#include "tests/support/process.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr const char* kBoot = "11111111-2222-3333-4444-555555555555";

class LiveKernelLogTest : public ::testing::Test {
 protected:
  LiveKernelLogTest() {
    tree_.write("/proc/sys/kernel/random/boot_id", std::string(kBoot) + "\n");
    tree_.write("/proc/stat", "btime 1790000000\n");
  }
  void log(std::uint64_t since_boot_us, const std::string& line, const std::string& transport = "kernel") const {
    append_to_journal(tree_.path() / "var/log/journal/0123456789abcdef0123456789abcdef/system.journal",
                      {{kBoot, since_boot_us, line, transport, transport == "kernel" ? "kernel" : "kubelet"}});
  }
  static Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

  void start() {
    reader_.update(now());
    live_.prepare();
    asio::co_spawn(io_, live_.run(), [](const std::exception_ptr&, const Result<void>&) {});
    io_.run_for(200ms);
  }
  // Whether news come within the limit.
  bool tells(std::chrono::milliseconds limit = kPatience) {
    const int before = news_;
    io_.restart();
    const auto end = std::chrono::steady_clock::now() + limit;
    while (news_ == before && std::chrono::steady_clock::now() < end) {
      io_.run_one_for(20ms);
      io_.restart();
    }
    return news_ != before;
  }

  ScratchTree tree_;
  HostRoot root_ = tree_.root();
  asio::io_context io_{1};
  KernelLogReader reader_{root_};
  int news_ = 0;
  LiveKernelLog live_{io_, root_, reader_, &LiveKernelLogTest::now, [this] { ++news_; }};
};

TEST_F(LiveKernelLogTest, AChangeOfTheJournalsFilesIsSeenAtOnce) {
  log(1'000'000, "Linux version 6.8.0");
  start();
  EXPECT_EQ(live_.sources(), "at once from the journal's files");
  log(2'000'000, "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus.");
  ASSERT_TRUE(tells());
  ASSERT_EQ(reader_.fact(now())->size(), 1u);
}

TEST_F(LiveKernelLogTest, WhatOtherProgramsLogIsNoReasonToReadTheJournal) {
  log(1'000'000, "Linux version 6.8.0");
  start();
  for (std::uint64_t i = 0; i < 6; ++i) {
    log(2'000'000 + i, "I did something", "stdout");
    EXPECT_FALSE(tells(200ms));
  }
  EXPECT_EQ(reader_.until_journal_read(now()), Duration{}) << "none of the burst is used up";
}

TEST_F(LiveKernelLogTest, WithoutAnySourceThePollIsLeft) {
  start();
  EXPECT_EQ(live_.sources(), "with the poll only (no journal files)");
}

}  // namespace
}  // namespace gpuskew
