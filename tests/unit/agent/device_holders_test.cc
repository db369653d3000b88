#include "agent/probes/device_holders.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr Time kNow = from_unix_ms(1'796'054'400'000);
constexpr const char* kUid = "0c1d7b1e-2f3a-4b5c-8d6e-7f8091a2b39e";

KernelModule module(std::string name, std::optional<std::uint32_t> refcount, std::vector<std::string> used_by = {}) {
  KernelModule result;
  result.name = std::move(name);
  result.refcount = refcount;
  result.used_by = std::move(used_by);
  result.state = ModuleState::Live;
  return result;
}

class DeviceHoldersTest : public ::testing::Test {
 protected:
  DeviceHoldersTest() {
    process(1, "systemd", {"/dev/null"}, "/init.scope");
    opened(1);
  }

  void process(unsigned pid, const std::string& name, const std::vector<std::string>& files,
               const std::string& cgroup = "/") const {
    const std::string folder = "/proc/" + std::to_string(pid);
    tree_.directory(folder + "/fd");
    tree_.write(folder + "/comm", name + "\n");
    tree_.write(folder + "/cgroup", "0::" + cgroup + "\n");
    for (std::size_t at = 0; at < files.size(); ++at) {
      tree_.link(folder + "/fd/" + std::to_string(at), files[at]);
    }
  }
  void ends(unsigned pid) const { tree_.remove("/proc/" + std::to_string(pid)); }
  // As many open files as the module counts.
  void opened(std::uint32_t files) {
    modules_ = Fact<std::vector<KernelModule>>::known(
        {module("nvidia", files + 1, {"nvidia_uvm"}), module("nvidia_uvm", 0)}, "/proc/modules");
  }
  Fact<DeviceHolders> read(Time now, std::size_t price = kWholeSearch) {
    return cache_.read(tree_.root(), HolderQuestion{nodes_, modules_, pods_}, now, price);
  }

  ScratchTree tree_;
  Fact<std::vector<DeviceNode>> nodes_ = Fact<std::vector<DeviceNode>>::known({{"/dev/nvidia0", 195, 0}}, "/dev");
  Fact<std::vector<KernelModule>> modules_;
  std::set<std::string> pods_;
  HolderCache cache_;
};

TEST(DeviceOfLink, IsTheNodeWhereverItsFileSystemIsMounted) {
  EXPECT_EQ(device_of_link("/dev/nvidia0"), "/dev/nvidia0");
  EXPECT_EQ(device_of_link("/dev/nvidia-uvm (deleted)"), "/dev/nvidia-uvm");
  EXPECT_EQ(device_of_link("/run/nvidia/driver/dev/nvidiactl"), "/dev/nvidiactl");
  EXPECT_EQ(device_of_link("/dev/nvidia-caps/nvidia-cap2"), "/dev/nvidia-caps/nvidia-cap2");
}

TEST(DeviceOfLink, IsNothingElse) {
  for (const char* target : {"", "/dev/null", "socket:[123]", "anon_inode:[eventfd]", "/dev/dri/card0",
                             "/home/me/dev/nvidia-docker/x.log", "/dev/nvidia", "/dev/nvidiaX"}) {
    EXPECT_EQ(device_of_link(target), "") << target;
  }
}

TEST(OpenCounts, LeaveOutTheModulesAmongTheHolders) {
  const auto counts = [](std::vector<KernelModule> modules) {
    return open_counts(Fact<std::vector<KernelModule>>::known(std::move(modules), "test"));
  };
  EXPECT_FALSE(counts({module("nvidia", 2, {"nvidia_uvm", "nvidia_modeset"}), module("nvidia_uvm", 0)})->any);
  EXPECT_TRUE(counts({module("nvidia", 3, {"nvidia_uvm", "nvidia_modeset"})})->any);
  EXPECT_FALSE(counts({module("nouveau", 5)})->any);
  EXPECT_EQ(counts({module("nvidia", std::nullopt)}), std::nullopt);
  EXPECT_EQ(counts({module("nvidia", 0, {"nvidia_uvm"})}), std::nullopt) << "a count that does not add up";
  EXPECT_EQ(open_counts(Fact<std::vector<KernelModule>>()), std::nullopt);
}

TEST_F(DeviceHoldersTest, AreNamedWithTheirPodContainerAndUnit) {
  process(200, "python3", {"/dev/null", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia0", "socket:[7]"},
          std::string("/kubepods/besteffort/pod") + kUid + "/" + std::string(64, 'a'));
  process(30, "Xorg", {"/dev/nvidia0"}, "/system.slice/gdm.service");
  pods_ = {kUid};
  const auto fact = read(kNow);
  ASSERT_TRUE(fact.is_known());
  ASSERT_EQ(fact->items.size(), 2U);
  EXPECT_EQ(fact->total, 2U);
  EXPECT_EQ(fact->unread, 0U);
  const DeviceHolder& screen = fact->items[0];
  EXPECT_EQ(screen.pid, 30U);
  EXPECT_EQ(screen.command, "Xorg");
  EXPECT_EQ(screen.unit, "gdm.service");
  EXPECT_FALSE(screen.asked_for_gpu);
  const DeviceHolder& pod = fact->items[1];
  EXPECT_EQ(pod.devices, (std::vector<std::string>{"/dev/nvidia0", "/dev/nvidiactl"}));
  EXPECT_EQ(pod.pod_uid, kUid);
  EXPECT_EQ(pod.container_id, std::string(64, 'a'));
  EXPECT_TRUE(pod.asked_for_gpu);
}

TEST_F(DeviceHoldersTest, OfAPodThatNeverAskedAreTold) {
  process(200, "dcgm-exporter", {"/dev/nvidiactl"}, std::string("/kubepods/pod") + kUid + "/" + std::string(64, 'a'));
  const auto fact = read(kNow);
  EXPECT_EQ(fact->items.at(0).pod_uid, kUid);
  EXPECT_FALSE(fact->items.at(0).asked_for_gpu);
}

TEST_F(DeviceHoldersTest, AreNoneWithoutALookWhereTheModulesCountNone) {
  tree_.remove("/proc");
  opened(0);
  const auto fact = read(kNow);
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(*fact, DeviceHolders{});
  EXPECT_EQ(fact.source(), "/proc/modules");
}

TEST_F(DeviceHoldersTest, AreAbsentWhereThereIsNothingToHold) {
  nodes_ = Fact<std::vector<DeviceNode>>::known({}, "/dev");
  opened(0);
  EXPECT_TRUE(read(kNow).is_absent());
  modules_ = Fact<std::vector<KernelModule>>();
  EXPECT_TRUE(read(kNow).is_absent());
}

TEST_F(DeviceHoldersTest, AreLookedForWhereOnlyADriverContainerHasTheNodes) {
  nodes_ = Fact<std::vector<DeviceNode>>::known({}, "/dev");
  process(200, "nvidia-persiste", {"/run/nvidia/driver/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
}

TEST_F(DeviceHoldersTest, AreLookedForWhereTheKernelCountsNothing) {
  modules_ = Fact<std::vector<KernelModule>>::known({module("nvidia", std::nullopt)}, "/proc/modules");
  process(200, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
  process(201, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow + 15s)->total, 1U);
  EXPECT_EQ(read(kNow + kUncountedSearchGap)->total, 2U);
}

TEST_F(DeviceHoldersTest, AreUnknownWithoutAnyProcess) {
  tree_.remove("/proc");
  EXPECT_TRUE(read(kNow).is_unknown());
  tree_.directory("/proc");
  EXPECT_EQ(read(kNow).why().what, "listing /proc: no process is in it");
}

TEST_F(DeviceHoldersTest, CountProcessesThatCanNotBeReadAsUnread) {
  process(200, "python3", {"/dev/nvidia0"});
  tree_.broken("/proc/300/fd");
  const auto fact = read(kNow);
  EXPECT_EQ(fact->total, 1U);
  EXPECT_EQ(fact->unread, 1U);
  EXPECT_NE(fact->unread_why.find("listing /proc/300/fd"), std::string::npos);
}

TEST_F(DeviceHoldersTest, DoNotMindAProcessThatEndsWhileItIsLookedAt) {
  tree_.write("/proc/300/comm", "gone\n");  // without its descriptors
  EXPECT_EQ(read(kNow)->unread, 0U);
}

TEST_F(DeviceHoldersTest, AreSearchedForInPiecesThatCountTheRestAsUnread) {
  process(200, "python3", {"/dev/nvidia0"});
  process(300, "python3", {"/dev/nvidia0"});
  const auto first = read(kNow, 1);
  EXPECT_EQ(first->total, 0U);
  EXPECT_EQ(first->unread, 2U);
  EXPECT_EQ(first->unread_why, "the first search of all processes is not at its end yet");
  EXPECT_TRUE(cache_.is_searching());
  EXPECT_EQ(read(kNow + 1s, 1)->total, 1U);
  const auto last = read(kNow + 2s, 1);
  EXPECT_EQ(last->total, 2U);
  EXPECT_EQ(last->unread, 0U);
  EXPECT_FALSE(cache_.is_searching());
}

TEST_F(DeviceHoldersTest, AreNotSearchedForAgainWhileNothingChanges) {
  process(200, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
  process(201, "unseen", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow + kMinSearchGap)->total, 1U);
  EXPECT_EQ(read(kNow + kMaxSearchAge)->total, 2U);
}

TEST_F(DeviceHoldersTest, AreSearchedForAgainWhenACountChanges) {
  process(200, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
  process(201, "python3", {"/dev/nvidia0"});
  opened(2);
  EXPECT_EQ(read(kNow + 1s)->total, 1U) << "not more often than kMinSearchGap";
  EXPECT_EQ(read(kNow + kMinSearchGap)->total, 2U);
}

TEST_F(DeviceHoldersTest, ThatEndedAreLetGoAtOnceAndTheirSuccessorsSearchedFor) {
  process(200, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
  ends(200);
  process(201, "python3", {"/dev/nvidia0"});
  const auto fact = read(kNow + kMinSearchGap);
  ASSERT_EQ(fact->total, 1U);
  EXPECT_EQ(fact->items.at(0).pid, 201U);
}

TEST_F(DeviceHoldersTest, ThatOpenedAnotherDescriptorAreStillHolders) {
  process(200, "python3", {"/dev/nvidia0", "/dev/nvidia1"});
  EXPECT_EQ(read(kNow)->items.at(0).devices.size(), 2U);
  tree_.remove("/proc/200/fd/0");
  tree_.remove("/proc/200/fd/1");
  tree_.link("/proc/200/fd/7", "/dev/nvidia1");
  const auto fact = read(kNow + 1s);
  ASSERT_EQ(fact->total, 1U);
  EXPECT_EQ(fact->items.at(0).devices, (std::vector<std::string>{"/dev/nvidia1"}));
}

TEST_F(DeviceHoldersTest, AreSearchedForAnewAfterATimeWithoutAny) {
  process(200, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
  opened(0);
  EXPECT_EQ(read(kNow + 1s)->total, 0U);
  opened(1);
  EXPECT_EQ(read(kNow + 2s)->total, 1U) << "an old answer would say that nobody holds a device";
}

TEST_F(DeviceHoldersTest, AreSearchedForAgainAfterTheClockWasSetBack) {
  process(200, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow)->total, 1U);
  process(201, "python3", {"/dev/nvidia0"});
  EXPECT_EQ(read(kNow - 1h)->total, 2U);
}

TEST_F(DeviceHoldersTest, PastTheirLimitAreCountedAndNotShown) {
  for (unsigned pid = 1000; pid < 1000 + DeviceHolders::kMaxItems + 5; ++pid) {
    process(pid, "python3", {"/dev/nvidia0"});
  }
  const auto fact = read(kNow);
  EXPECT_EQ(fact->items.size(), DeviceHolders::kMaxItems);
  EXPECT_EQ(fact->total, DeviceHolders::kMaxItems + 5);
}

TEST_F(DeviceHoldersTest, BearNamesThatCanNotWriteToATerminal) {
  process(200, "evil\033[2J\xff", {"/dev/nvidia0"}, "/evil\033[2J.service");
  const auto fact = read(kNow);
  EXPECT_EQ(fact->items.at(0).command, "evil?[2J?");
  EXPECT_EQ(fact->items.at(0).unit, "");
}

TEST_F(DeviceHoldersTest, AreNoKernelThreadsForAnAgentThatMayNotLook) {
  constexpr const char* kThread = "2 (a) b) S 0 0 0 0 -1 2129984 0 0\n";
  constexpr const char* kProgram = "3 (x) S 1 3 3 0 -1 4194560 0 0\n";
  for (const auto& [pid, stat] : {std::pair{"2", kThread}, std::pair{"3", kProgram}}) {
    const std::string folder = std::string("/proc/") + pid;
    tree_.write(folder + "/stat", stat);
    tree_.directory(folder + "/fd");
    ::chmod((tree_.path() / folder.substr(1) / "fd").c_str(), 0);
  }
  ::chmod(tree_.path().c_str(), 0755);
  // Root may look everywhere, so a child looks as somebody else.
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const bool other_user = ::getuid() != 0 || (::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
    const auto fact = read(kNow);
    const bool only_the_program = fact.is_known() && fact->unread == 1 &&
                                  fact->unread_why.find("/proc/3/fd: permission denied") != std::string::npos;
    ::_exit(other_user && only_the_program ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(DeviceHoldersTest, AreSearchedForAmongTheRealProcessesOfThisMachine) {
  opened(1);
  const auto fact = cache_.read(root_at("/"), HolderQuestion{nodes_, modules_, pods_}, kNow, kWholeSearch);
  ASSERT_TRUE(fact.is_known());
  EXPECT_FALSE(cache_.is_searching());
}

}  // namespace
}  // namespace gpuskew
