#include "agent/wake.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "agent/uevents.h"
#include "tests/support/process.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr Duration kNever = 1h;

class WakeTest : public ::testing::Test {
 protected:
  WakeTest() {
    tree_.write("/proc/sys/kernel/osrelease", "5.15.0-119-generic\n");
    tree_.write("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
    tree_.write("/proc/stat", "btime 1\n");
    tree_.write("/proc/modules", "");
    tree_.write("/proc/driver/nvidia/version", "");
    tree_.write("/sys/module/nvidia/version", "550.90.07\n");
    tree_.write("/usr/lib/os-release", "ID=ubuntu\n");
    tree_.link("/etc/os-release", "../usr/lib/os-release");
    tree_.write("/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko", "");
    tree_.write("/lib/modules/5.15.0-119-generic/modules.dep", "");
    tree_.write("/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07", "");
    tree_.write("/lib/modules/5.15.0-122-generic/modules.dep", "");
    tree_.write("/boot/grub/grub.cfg", "");
    tree_.directory("/boot/loader/entries");
    tree_.directory("/var/lib/dkms/nvidia/550.90.07");
    tree_.directory("/lib/modules/6.8.0/extra");
    tree_.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "nvidia");
  }

  static Snapshot snapshot() {
    Snapshot read;
    read.kernel = Fact<KernelRelease>::known(*KernelRelease::parse("5.15.0-119-generic"), "");
    const KernelRelease next = *KernelRelease::parse("5.15.0-122-generic");
    read.kernels = Fact<std::vector<InstalledKernel>>::known(
        {InstalledKernel{next, true, true, {}}, InstalledKernel{*KernelRelease::parse("6.8.0"), true, true, {}}}, "");
    read.dkms =
        Fact<std::vector<DkmsEntry>>::known({DkmsEntry{"nvidia", "550.90.07", "", "", DkmsStage::Added, ""}}, "");
    Gpu gpu;
    gpu.address = "0000:3b:00.0";
    read.gpus = Fact<std::vector<Gpu>>::known({gpu}, "");
    return read;
  }

  void open(Duration poll) { wake_.emplace(io_, root_, poll); }

  // As the agent does it: the first watches always ask for a read.
  void watch_all() {
    const Snapshot read = snapshot();
    wake_->watch(paths_to_watch(&read));
    ASSERT_TRUE(wakes());
  }

  // Whether wait() ends; how long it took is in took_.
  bool wakes(std::chrono::milliseconds limit = kPatience) {
    bool woke = false;
    const auto begin = Clock::now();
    asio::co_spawn(io_, wake_->wait(), [&](const std::exception_ptr& thrown) {
      woke = !thrown;
      took_ = std::chrono::duration_cast<Duration>(Clock::now() - begin);
      io_.stop();
    });
    io_.restart();
    io_.run_for(limit);
    return woke;
  }

  ScratchTree tree_;
  HostRoot root_ = tree_.root();
  asio::io_context io_{1};
  std::optional<Wake> wake_;
  Duration took_{};
};

struct Change {
  const char* name;
  void (*make)(const ScratchTree& tree);
};

class WakeOnChangeTest : public WakeTest, public ::testing::WithParamInterface<Change> {};

TEST_P(WakeOnChangeTest, EndsTheWaitAtOnce) {
  open(kNever);
  watch_all();
  GetParam().make(tree_);
  EXPECT_TRUE(wakes());
}

INSTANTIATE_TEST_SUITE_P(
    Files, WakeOnChangeTest,
    ::testing::Values(
        Change{"Kernel", [](const ScratchTree& tree) { tree.write("/proc/sys/kernel/osrelease", "6.8.0\n"); }},
        Change{"BootId", [](const ScratchTree& tree) { tree.write("/proc/sys/kernel/random/boot_id", "x\n"); }},
        Change{"BootTime", [](const ScratchTree& tree) { tree.write("/proc/stat", "btime 2\n"); }},
        Change{"ModuleList", [](const ScratchTree& tree) { tree.write("/proc/modules", "nvidia\n"); }},
        Change{"DriverVersion", [](const ScratchTree& tree) { tree.write("/sys/module/nvidia/version", "1.2\n"); }},
        Change{"NvrmVersion", [](const ScratchTree& tree) { tree.write("/proc/driver/nvidia/version", "x"); }},
        Change{"ModuleGone", [](const ScratchTree& tree) { tree.remove("/sys/module/nvidia"); }},
        Change{"OsBehindItsLink", [](const ScratchTree& tree) { tree.write("/usr/lib/os-release", "ID=debian\n"); }},
        Change{"ModuleFileGone",
               [](const ScratchTree& tree) { tree.remove("/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko"); }},
        Change{"Depmod",
               [](const ScratchTree& tree) { tree.write("/lib/modules/5.15.0-119-generic/modules.dep", "x"); }},
        Change{"NewKernel", [](const ScratchTree& tree) { tree.directory("/lib/modules/5.15.0-125-generic"); }},
        Change{"DepmodOfAnotherKernel",
               [](const ScratchTree& tree) { tree.write("/lib/modules/5.15.0-122-generic/modules.dep", "x"); }},
        Change{"NewImage", [](const ScratchTree& tree) { tree.write("/boot/vmlinuz-5.15.0-125-generic", "x"); }},
        Change{"GrubReboot", [](const ScratchTree& tree) { tree.write("/boot/grub/grubenv", "x"); }},
        Change{"LoaderEntry", [](const ScratchTree& tree) { tree.write("/boot/loader/entries/a.conf", "x"); }},
        Change{"DkmsBuild",
               [](const ScratchTree& tree) { tree.directory("/var/lib/dkms/nvidia/550.90.07/5.15.0-125-generic"); }},
        Change{"NextKernelsModule",
               [](const ScratchTree& tree) { tree.write("/lib/modules/6.8.0/extra/nvidia.ko", ""); }},
        Change{"Library", [](const ScratchTree& tree) { tree.write("/usr/lib/x86_64-linux-gnu/libcuda.so.1.2", ""); }},
        Change{"DriverContainer", [](const ScratchTree& tree) { tree.directory("/run/nvidia/driver/usr"); }},
        Change{"NewDevice", [](const ScratchTree& tree) { tree.pci("0000:5e:00.0", "0x10de", "0x20b0", "0x030200"); }},
        Change{"Unbound", [](const ScratchTree& tree) { tree.remove("/sys/bus/pci/devices/0000:3b:00.0/driver"); }},
        Change{"HostName", [](const ScratchTree& tree) { tree.write("/etc/hostname", "other\n"); }}),
    [](const auto& change) { return change.param.name; });

TEST_F(WakeTest, ThePollEndsTheWaitWhenNothingTells) {
  open(150ms);
  watch_all();
  EXPECT_TRUE(wakes());
  EXPECT_GE(took_, 100ms);
}

TEST_F(WakeTest, AStormIsOneReadAndReadingCausesNone) {
  open(400ms);
  watch_all();
  for (int i = 0; i < 500; ++i) {
    tree_.write("/usr/lib/x86_64-linux-gnu/file" + std::to_string(i), "x");
  }
  ASSERT_TRUE(wakes());
  ASSERT_TRUE(root_.read("/proc/sys/kernel/osrelease"));
  ASSERT_TRUE(root_.list("/sys/bus/pci/devices"));
  ASSERT_TRUE(wakes());
  EXPECT_GE(took_, 300ms) << "only the poll should have ended the second wait";
}

TEST_F(WakeTest, EventsAskForAtMostTenReadsASecond) {
  open(kNever);
  watch_all();
  constexpr int kReads = 5;
  const auto begin = Clock::now();
  for (int i = 0; i < kReads; ++i) {
    tree_.write("/etc/hostname", std::to_string(i));
    ASSERT_TRUE(wakes());
  }
  EXPECT_GE(Clock::now() - begin, (kReads - 1) * kMinWakeGap);
}

TEST_F(WakeTest, WatchingTheSameAgainAsksForNothing) {
  open(300ms);
  watch_all();
  const Snapshot read = snapshot();
  wake_->watch(paths_to_watch(&read));
  ASSERT_TRUE(wakes());
  EXPECT_GE(took_, 200ms);
}

TEST_F(WakeTest, AWatchThatIsTakenAwayAsksForNothing) {
  open(300ms);
  watch_all();
  wake_->watch({"/etc"});
  EXPECT_NE(wake_->sources().find("inotify: 1 directories"), std::string::npos) << wake_->sources();
  ASSERT_TRUE(wakes());
  EXPECT_GE(took_, 200ms);
  tree_.write("/sys/module/nvidia/version", "1.2\n");
  ASSERT_TRUE(wakes());
  EXPECT_GE(took_, 200ms);
}

TEST_F(WakeTest, ADirectoryMadeAnewIsWatchedAnew) {
  open(kNever);
  watch_all();
  tree_.remove("/sys/module/nvidia");
  ASSERT_TRUE(wakes());
  const Snapshot read = snapshot();
  wake_->watch(paths_to_watch(&read));
  tree_.write("/sys/module/nvidia/version", "550.90.07\n");
  ASSERT_TRUE(wakes());
  wake_->watch(paths_to_watch(&read));
  ASSERT_TRUE(wakes()) << "a new watch asks for one more read";
  tree_.write("/sys/module/nvidia/version", "550.90.12\n");
  EXPECT_TRUE(wakes());
}

TEST_F(WakeTest, AModuleInADirectoryThatIsNewIsSeen) {
  open(kNever);
  watch_all();
  const Snapshot read = snapshot();
  tree_.directory("/lib/modules/6.8.0/extra/nvidia");
  ASSERT_TRUE(wakes());
  wake_->watch(paths_to_watch(&read));
  ASSERT_TRUE(wakes()) << "a new watch asks for one more read";
  wake_->watch(paths_to_watch(&read));
  tree_.write("/lib/modules/6.8.0/extra/nvidia/nvidia.ko", "");
  EXPECT_TRUE(wakes());
  tree_.remove("/lib/modules/6.8.0/extra/nvidia");
  ASSERT_TRUE(wakes());
  while (wakes(300ms)) {
    // The file and its directory go one after the other.
  }
  wake_->watch(paths_to_watch(&read));
  EXPECT_FALSE(wakes(300ms)) << "a directory that is gone is forgotten";
}

TEST_F(WakeTest, AStormOfKernelEventsIsOneRead) {
  // Writing to a driver's own file makes the kernel send an event of it.
  std::ofstream driver;
  for (const char* name : {"/sys/bus/acpi/drivers/ec/uevent", "/sys/bus/cpu/drivers/processor/uevent",
                           "/sys/bus/pci/drivers/pcieport/uevent"}) {
    driver.open(name);
    if (driver.is_open()) {
      break;
    }
  }
  if (!driver.is_open() || !uevents_doubt().empty()) {
    GTEST_SKIP() << "no kernel events can be made here";
  }
  open(600ms);
  watch_all();
  for (int i = 0; i < 1000; ++i) {
    driver << "change" << std::flush;
  }
  ASSERT_TRUE(wakes());
  EXPECT_LT(took_, 400ms);
  ASSERT_TRUE(wakes());
  EXPECT_GE(took_, 400ms) << "only the poll should have ended the second wait";
}

TEST_F(WakeTest, ARequestEndsTheWait) {
  open(kNever);
  wake_->request();
  EXPECT_TRUE(wakes());
}

TEST_F(WakeTest, SaysWhichSourcesWork) {
  open(15s);
  watch_all();
  const std::string text = wake_->sources();
  EXPECT_EQ(text.find("inotify: "), 0u) << text;
  EXPECT_NE(text.find(" directories; kernel events: "), std::string::npos) << text;
  EXPECT_NE(text.find("; poll every 15s"), std::string::npos) << text;
}

TEST_F(WakeTest, MoreDirectoriesThanTheLimitAreLeftToThePoll) {
  open(kNever);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i <= kMaxWatches; ++i) {
    paths.push_back("/many/" + std::to_string(i));
    tree_.directory(paths.back());
  }
  wake_->watch(paths);
  EXPECT_NE(wake_->sources().find("256 directories (more than 256 directories)"), std::string::npos)
      << wake_->sources();
}

TEST(WatchedPathsTest, NameTheKernelsTreeTheLibrariesAndTheGpus) {
  Snapshot read;
  read.kernel = Fact<KernelRelease>::known(*KernelRelease::parse("6.8.0"), "");
  read.module_file = Fact<ModuleFile>::known({"/lib/modules/6.8.0/extra/nvidia/nvidia.ko.xz", {}}, "");
  read.libraries = Fact<std::vector<Library>>::known(
      {{"libcuda", *DriverVersion::parse("550.90.07"), "/opt/nvidia/lib64/libcuda.so.550.90.07", DriverRoot::Host}},
      "");
  const auto paths = paths_to_watch(&read);
  for (const char* path : {"/lib/modules/6.8.0", "/lib/modules/6.8.0/updates/dkms",
                           "/lib/modules/6.8.0/extra/nvidia/nvidia.ko.xz", "/opt/nvidia/lib64/libcuda.so.550.90.07"}) {
    EXPECT_EQ(std::count(paths.begin(), paths.end(), path), 1) << path;
  }
  EXPECT_FALSE(paths_to_watch(nullptr).empty());
}

}  // namespace
}  // namespace gpuskew
