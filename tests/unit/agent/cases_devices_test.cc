// Cases of tests/fixtures/cases about what is on the PCI bus, what binds it and which modules hold it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "core/judge.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr Time kNow = from_unix_ms(1'796'054'400'000);

std::string case_file(const char* folder, const char* file) {
  std::ifstream stream(std::filesystem::path(GPUSKEW_FIXTURES) / "cases" / folder / file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  EXPECT_FALSE(content.str().empty()) << folder << "/" << file;
  return content.str();
}

// What stands between two marks.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

std::size_t count(const Snapshot& snapshot, FunctionKind kind) {
  const auto& functions = snapshot.pci_functions.value();
  return static_cast<std::size_t>(std::count_if(functions.begin(), functions.end(),
                                                [kind](const PciFunction& function) { return function.kind == kind; }));
}

Snapshot snapshot_of(const ScratchTree& tree) {
  return take_snapshot(tree.root(), "gpu-1", "0.1.0", kNow);
}

Verdict judged(const Snapshot& snapshot) {
  return judge(snapshot, NodeHistory{}, JudgePolicy{}, nullptr, snapshot.taken_at, snapshot.taken_at);
}

// "0001:00:00.0 3D controller [0302]: NVIDIA Corporation ... [10de:20b2] (rev a1)"
TEST(Case081PciNvswitchNotGpu, CountsFourGpusAndTwoSwitches) {
  const ScratchTree tree;
  std::istringstream lines(case_file("081-pci-nvswitch-not-gpu", "lspci.txt"));
  for (std::string line; std::getline(lines, line);) {
    tree.pci(line.substr(0, line.find(' ')), "0x10de", "0x" + between(line, "[10de:", "]"),
             "0x" + between(line, "[", "]") + "00");
  }
  const Snapshot snapshot = snapshot_of(tree);
  ASSERT_EQ(snapshot.gpus->size(), 4U);
  EXPECT_EQ(snapshot.gpus->front().address, "0001:00:00.0");
  EXPECT_EQ(snapshot.pci_functions->size(), 2U);
  EXPECT_EQ(count(snapshot, FunctionKind::NvSwitch), 2U);
}

// "0004:00:00.0 class 0x0604 10de:22ce GB10 GEN5 X4 PCIe host"
TEST(Case083DgxSpark10deBridges, AreNoGpus) {
  const ScratchTree tree;
  std::istringstream lines(case_file("083-dgx-spark-10de-bridges", "pci.txt"));
  for (std::string line; std::getline(lines, line);) {
    tree.pci(line.substr(0, line.find(' ')), "0x10de", "0x" + between(line, "10de:", " "),
             between(line, "class ", " ") + "00");
  }
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_TRUE(snapshot.gpus->empty());
  EXPECT_EQ(snapshot.pci_functions->size(), 3U);
  EXPECT_EQ(count(snapshot, FunctionKind::Bridge), 3U);
}

TEST(Case107NouveauBound, SaysThatNouveauHoldsTheGpuAndWhatTakesItAway) {
  const std::string lspci = case_file("107-nouveau-bound", "lspci.txt");
  const ScratchTree tree;
  tree.pci("0000:" + lspci.substr(0, lspci.find(' ')), "0x10de", "0x13c2", "0x030000",
           between(lspci, "Kernel driver in use: ", "\n"));
  tree.write("/proc/modules", "nouveau 2535424 2 - Live 0x0000000000000000\n");
  tree.directory("/sys/module/nouveau");
  tree.write("/proc/sys/kernel/osrelease", "4.20.6-200.fc29.x86_64\n");
  tree.write("/lib/modules/4.20.6-200.fc29.x86_64/extra/nvidia.ko", "the candidate of \"Kernel modules:\"");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_EQ(*snapshot.gpus->at(0).driver, "nouveau");
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
  const Verdict verdict = judged(snapshot);
  ASSERT_FALSE(verdict.findings.empty());
  const Finding& finding = verdict.findings.front();
  EXPECT_EQ(finding.code, FindingCode::WrongDriverBound);
  EXPECT_NE(finding.next_step.find("blacklist nouveau"), std::string::npos);
  EXPECT_NE(finding.next_step.find("dracut -f"), std::string::npos) << "the initramfs of that system";
  EXPECT_NE(finding.next_step.find("reboot"), std::string::npos);
}

class Case117ModuleUnloadingWedged : public ::testing::Test {
 protected:
  Case117ModuleUnloadingWedged() {
    tree_.write("/proc/modules", case_file("117-module-unloading-wedged", "proc_modules"));
    tree_.pci("0000:3b:00.0", "0x10de", "0x2941", "0x030200", "nvidia");
    tree_.write("/sys/module/nvidia/version", "580.126.20\n");
  }

  // The trace, as the kernel's log gives it.
  static Fact<std::vector<KernelLogEvent>> log() {
    KernelLogEvent event;
    event.kind = KernelLogKind::KernelTrace;
    event.text = case_file("117-module-unloading-wedged", "dmesg.txt");
    std::replace(event.text.begin(), event.text.end(), '\n', ' ');
    event.first_at = kNow - 3h;
    event.last_at = kNow - 3h;
    event.count = 1;
    return Fact<std::vector<KernelLogEvent>>::known({event}, "journal");
  }

  ScratchTree tree_;
};

TEST_F(Case117ModuleUnloadingWedged, IsNotALoadedModule) {
  const Snapshot snapshot = snapshot_of(tree_);
  ASSERT_EQ(snapshot.modules->size(), 2U);
  const KernelModule& uvm = snapshot.modules->at(0);
  EXPECT_EQ(uvm.name, "nvidia_uvm");
  EXPECT_EQ(uvm.state, ModuleState::Unloading);
  EXPECT_EQ(uvm.refcount, std::nullopt);
  EXPECT_EQ(uvm.taints, "OE-");
  EXPECT_EQ(snapshot.modules->at(1).state, ModuleState::Live);
  EXPECT_EQ(snapshot.modules->at(1).refcount, 3U);
}

TEST_F(Case117ModuleUnloadingWedged, IsAFindingThatOnlyARebootTakesAway) {
  Snapshot snapshot = snapshot_of(tree_);
  snapshot.kernel_log = log();
  const Verdict verdict = judged(snapshot);
  ASSERT_FALSE(verdict.findings.empty());
  const Finding& finding = verdict.findings.front();
  EXPECT_EQ(finding.code, FindingCode::ModuleWedged);
  EXPECT_EQ(finding.reboot_helps, RebootHelps::Yes);
  EXPECT_NE(finding.next_step.find("drain"), std::string::npos);
  EXPECT_NE(finding.next_step.find("reboot"), std::string::npos);
  const std::string pod = "a new driver pod will look Running while its validation loops";
  EXPECT_NE(std::find(finding.consequences.begin(), finding.consequences.end(), pod), finding.consequences.end());
}

TEST_F(Case117ModuleUnloadingWedged, IsFoundWithoutTheLogAfterAMinute) {
  ReadCache cache;
  const HostRoot root = tree_.root();
  take_snapshot(root, "gpu-1", "0.1.0", kNow - 1min, &cache);
  EXPECT_EQ(judged(take_snapshot(root, "gpu-1", "0.1.0", kNow - 1s, &cache)).state, NodeState::Unknown);
  const Verdict verdict = judged(take_snapshot(root, "gpu-1", "0.1.0", kNow, &cache));
  EXPECT_EQ(verdict.findings.at(0).code, FindingCode::ModuleWedged);
  EXPECT_EQ(verdict.findings.at(0).since, kNow - 1min);
}

// Why it can not be unloaded: what the host itself runs on the GPU, and not only pods that a drain would move.
TEST(Case119DriverInUseRefcount236, NamesTheHoldersOutsidePods) {
  const std::string refcount = between(case_file("119-driver-in-use-refcount-236", "log.txt"), "refcount ", "\n");
  const ScratchTree tree;
  tree.write("/proc/modules",
             "nvidia_uvm 1036288 2 - Live 0x0\nnvidia_drm 57344 8 - Live 0x0\n"
             "nvidia_modeset 1204224 4 nvidia_drm, Live 0x0\n"
             "nvidia 35315712 " +
                 refcount + " nvidia_uvm,nvidia_modeset, Live 0x0 (POE)\n");
  tree.write("/dev/null", "");
  tree.link("/proc/900/fd/12", "/dev/nvidia0");
  tree.write("/proc/900/comm", "Xorg\n");
  tree.write("/proc/900/cgroup", "0::/system.slice/gdm.service\n");
  tree.link("/proc/4000/fd/3", "/dev/nvidiactl");
  tree.write("/proc/4000/comm", "dcgm-exporter\n");
  tree.write("/proc/4000/cgroup", "1:name=systemd:/kubepods/besteffort/pod0c1d7b1e-2f3a-4b5c-8d6e-7f8091a2b39e/" +
                                      std::string(64, 'a') + "\n");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_EQ(snapshot.modules->back().refcount, 236U);
  ASSERT_TRUE(snapshot.holders.is_known()) << snapshot.holders.why().what;
  ASSERT_EQ(snapshot.holders->total, 2U);
  EXPECT_EQ(snapshot.holders->items[0].command, "Xorg");
  EXPECT_EQ(snapshot.holders->items[0].unit, "gdm.service");
  EXPECT_EQ(snapshot.holders->items[0].pod_uid, "");
  EXPECT_EQ(snapshot.holders->items[1].pod_uid, "0c1d7b1e-2f3a-4b5c-8d6e-7f8091a2b39e");
}

TEST(Case121TalosModulesNotLoaded, HasNoModuleInAListWithoutNumbers) {
  const ScratchTree tree;
  tree.write("/proc/modules", case_file("121-talos-modules-not-loaded", "proc_modules"));
  tree.pci("0000:03:00.0", "0x10de", "0x1eb8", "0x030200");
  tree.directory("/sys/module/ahci");
  const Snapshot snapshot = snapshot_of(tree);
  ASSERT_TRUE(snapshot.modules.is_known());
  EXPECT_TRUE(snapshot.modules->empty());
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
  ASSERT_EQ(snapshot.gpus->size(), 1U);
  EXPECT_TRUE(snapshot.gpus->at(0).driver.is_absent());
}

TEST(Case121TalosModulesNotLoaded, TakesAModuleOfSuchAKernelToo) {
  std::string list = case_file("121-talos-modules-not-loaded", "proc_modules");
  list.replace(list.find("igb"), 3, "nvidia");
  const auto modules = parse_kernel_modules(list);
  ASSERT_EQ(modules->size(), 1U);
  EXPECT_EQ(modules->front().refcount, std::nullopt);
  EXPECT_TRUE(modules->front().used_by.empty());
  EXPECT_EQ(modules->front().state, ModuleState::Live);
}

// "0000:01:00.0 10de driver=nvidia": the label asks for passthrough, the bus says what is.
TEST(Case131HostDriverDetectedBlocksVfio, HasTheGpuStillBoundToNvidia) {
  const std::string line = case_file("131-host-driver-detected-blocks-vfio", "pci_drivers.txt");
  const ScratchTree tree;
  tree.pci(line.substr(0, line.find(' ')), "0x10de", "0x20b0", "0x030200", between(line, "driver=", "\n"));
  const std::string log = case_file("131-host-driver-detected-blocks-vfio", "log.txt");
  tree.write("/sys/module/nvidia/version", between(log, "Host driver detected: ", "\n") + "\n");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_EQ(*snapshot.gpus->at(0).driver, "nvidia");
  EXPECT_EQ(snapshot.loaded_driver->text(), "580.82.07");
  EXPECT_NE(judged(snapshot).state, NodeState::NotJudged);
}

}  // namespace
}  // namespace gpuskew
