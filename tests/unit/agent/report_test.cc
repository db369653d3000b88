#include "agent/report.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/kernel_log/kernel_log_reader.h"
#include "runtime/log.h"
#include "tests/support/journal.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr Time kNow = from_unix_ms(1'796'054'737'000);

class ReporterTest : public ::testing::Test {
 protected:
  ReporterTest() { boot("11111111-2222-3333-4444-555555555555", "5.15.0-119-generic"); }
  ~ReporterTest() override { ::close(log_fd_); }

  void boot(const char* id, const char* kernel) const {
    tree_.write("/proc/sys/kernel/osrelease", std::string(kernel) + "\n");
    tree_.write("/proc/sys/kernel/random/boot_id", std::string(id) + "\n");
    tree_.write("/proc/stat", "btime 1796050000\n");
    tree_.write("/proc/modules", "");
    tree_.directory("/sys/module");
    tree_.directory("/sys/bus/pci/devices");
  }
  void load(const char* driver) const { tree_.write("/sys/module/nvidia/version", std::string(driver) + "\n"); }
  void unload() const { tree_.remove("/sys/module/nvidia"); }

  // A new agent process.
  Reporter start() {
    return Reporter(root_, log_, "gpu-1", StateFile(state_), kNow,
                    [this](std::shared_ptr<const Snapshot> snapshot) { delivered_.push_back(std::move(snapshot)); });
  }
  std::string log_text() const {
    std::string text(static_cast<std::size_t>(::lseek(log_fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(log_fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  ScratchTree tree_;
  ScratchTree own_;
  std::filesystem::path state_ = own_.path() / "state";
  HostRoot root_ = tree_.root();
  int log_fd_ = ::memfd_create("log", MFD_CLOEXEC);
  Log log_{log_fd_};
  std::vector<std::shared_ptr<const Snapshot>> delivered_;
};

TEST_F(ReporterTest, ASearchGoesOnWithoutReadingTheOtherFactsAgain) {
  load("550.90.07");
  tree_.write("/proc/modules", "nvidia 60000000 3 - Live 0x0 (POE)\n");
  tree_.directory("/dev");
  tree_.directory("/var/lib/dpkg");
  constexpr unsigned kProcesses = 700;  // more than one piece
  for (unsigned pid = 1; pid <= kProcesses; ++pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    tree_.write(process + "/comm", "python3\n");
    tree_.link(process + "/fd/3", pid == kProcesses ? "/dev/nvidia0" : "/dev/null");
  }
  Reporter reporter = start();
  reporter.read(kNow);
  ASSERT_TRUE(reporter.is_searching()) << (reporter.latest()->holders.is_unknown() ? "unknown" : "at its end");
  boot("99999999-2222-3333-4444-555555555555", "6.8.0-45-generic");
  while (reporter.is_searching()) {
    reporter.search_on(kNow + 1s);
  }
  EXPECT_EQ(reporter.latest()->holders->total, 1U);
  EXPECT_EQ(reporter.latest()->holders->unread, 0U);
  EXPECT_EQ(reporter.latest()->kernel->text(), "5.15.0-119-generic");
  EXPECT_EQ(delivered_.back(), reporter.latest());
}

TEST_F(ReporterTest, OnlyNewsIsDelivered) {
  load("550.90.07");
  Reporter reporter = start();
  reporter.read(kNow);
  reporter.read(kNow + 15s);
  ASSERT_EQ(delivered_.size(), 1u);
  EXPECT_EQ(delivered_[0]->node, "gpu-1");
  EXPECT_EQ(delivered_[0]->loaded_driver->text(), "550.90.07");
  unload();
  reporter.read(kNow + 30s);
  ASSERT_EQ(delivered_.size(), 2u);
  EXPECT_TRUE(delivered_[1]->loaded_driver.is_absent());
  EXPECT_EQ(delivered_[1]->remembered->at, kNow + 15s);
  EXPECT_EQ(reporter.latest(), delivered_[1]);
  EXPECT_NE(log_text().find("warning the driver is gone before=\"driver 550.90.07 on 5.15.0-119-generic\" "
                            "now=\"no driver on 5.15.0-119-generic\""),
            std::string::npos)
      << log_text();
}

TEST_F(ReporterTest, SnapshotsHaveTheKernelLogsEvents) {
  append_to_journal(tree_.path() / "var/log/journal/0123456789abcdef0123456789abcdef/system.journal",
                    {{"11111111-2222-3333-4444-555555555555", 5'000'000,
                      "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus."}});
  Reporter reporter = start();
  reporter.read(kNow);
  EXPECT_TRUE(delivered_.back()->kernel_log.is_unknown()) << "nobody reads it";
  KernelLogReader log(root_, KernelLogStore(own_.path() / "missing"));
  reporter.set_kernel_log(log);
  reporter.read(kNow);
  ASSERT_TRUE(delivered_.back()->kernel_log.is_known());
  EXPECT_EQ(delivered_.back()->kernel_log->front().kind, KernelLogKind::FellOffBus);
  EXPECT_NE(log_text().find("warning the kernel log is read anew after a restart"), std::string::npos) << log_text();
}

TEST_F(ReporterTest, SaysAfterARebootWhatWasThereBefore) {
  load("550.90.07");
  start().read(kNow);
  unload();
  boot("99999999-2222-3333-4444-555555555555", "5.15.0-122-generic");
  start().read(kNow + 5min);
  EXPECT_NE(log_text().find("before: 550.90.07 on 5.15.0-119-generic; now: nothing on 5.15.0-122-generic"),
            std::string::npos)
      << log_text();
  ASSERT_TRUE(delivered_.back()->remembered);
  EXPECT_EQ(delivered_.back()->remembered->driver.text(), "550.90.07");

  // A restart of the agent in the broken boot must not forget it either.
  start().read(kNow + 10min);
  EXPECT_EQ(delivered_.back()->remembered->kernel.text(), "5.15.0-119-generic");
}

TEST_F(ReporterTest, ARestartInTheSameBootSaysNothingOfAnotherBoot) {
  load("550.90.07");
  start().read(kNow);
  start().read(kNow + 1min);
  EXPECT_EQ(log_text().find("another boot"), std::string::npos) << log_text();
}

TEST_F(ReporterTest, ACorruptStateFileIsAWarning) {
  own_.write("/state/last-good", "rubbish");
  Reporter reporter = start();
  reporter.read(kNow);
  EXPECT_NE(log_text().find("warning beginning without a last good state, ignoring"), std::string::npos) << log_text();
  EXPECT_FALSE(delivered_[0]->remembered);
}

TEST_F(ReporterTest, AStateDirectoryThatCanNotBeMadeIsOneWarning) {
  state_ = own_.path() / "missing" / "state";
  load("550.90.07");
  Reporter reporter = start();
  reporter.read(kNow);
  load("550.90.12");
  reporter.read(kNow + 15s);
  EXPECT_EQ(delivered_.size(), 2u);
  const std::string text = log_text();
  const std::size_t first = text.find("warning");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("warning", first + 1), std::string::npos) << text;

  own_.directory("/missing/state");
  load("550.127.05");
  reporter.read(kNow + 30s);
  EXPECT_NE(log_text().find("the last good state is kept again"), std::string::npos) << log_text();
}

}  // namespace
}  // namespace gpuskew
