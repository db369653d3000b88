// The rule of core/rules/gpu_failed.cc, through judge().

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/judge.h"
#include "log_lines.h"

namespace gpuskew::testing {
namespace {

/// Eight H100s, driver loaded, with this log.
Snapshot node_saying(std::vector<std::string> lines) {
  Snapshot s = healthy_node();
  std::vector<Gpu> gpus;
  for (const char* bus : {"18", "2a", "3a", "5d", "9a", "ab", "ba", "db"}) {
    gpus.push_back(gpu("0000:" + std::string(bus) + ":00.0"));
    gpus.back().device_id = 0x2330;
  }
  s.gpus = known(gpus);
  lines.insert(lines.begin(), kLoading);
  s.kernel_log = kernel_log(lines);
  return s;
}

Verdict verdict_of(const Snapshot& s) {
  return judge(s, NodeHistory{}, JudgePolicy{}, nullptr, kLongAfterBoot, kLongAfterBoot);
}

/// The finding, or null when none is GpuFailed.
const Finding* failure(const Verdict& verdict) {
  const bool is_one = !verdict.findings.empty() && verdict.findings[0].code == FindingCode::GpuFailed;
  return is_one ? &verdict.findings[0] : nullptr;
}

const std::string kOff = "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

TEST(GpuFailedTest, OneGpuOfEightFellOffTheBus) {
  const Verdict verdict = verdict_of(node_saying({kOff}));
  const Finding* finding = failure(verdict);
  ASSERT_NE(finding, nullptr) << verdict.why;
  EXPECT_EQ(verdict.state, NodeState::Broken);
  EXPECT_EQ(finding->severity, Severity::Critical);
  EXPECT_EQ(finding->cause, "GPU 0000:5d:00.0 (10de:2330) (1 of 8) has fallen off the bus (Xid 79)");
  EXPECT_EQ(finding->affected_gpus, std::vector<std::string>{"0000:5d:00.0"});
  EXPECT_EQ(finding->reboot_helps, RebootHelps::Yes);
  EXPECT_EQ(finding->evidence[0].source, "journal");
}

TEST(GpuFailedTest, AGpuThatIsGoneFromTheBusIsStillOneOfEight) {
  Snapshot s = node_saying({kOff});
  std::vector<Gpu> gpus = s.gpus.value();
  gpus.erase(gpus.begin() + 3);
  s.gpus = known(gpus);
  EXPECT_EQ(failure(verdict_of(s))->cause, "GPU 0000:5d:00.0 (1 of 8) has fallen off the bus (Xid 79)");
}

TEST(GpuFailedTest, ApplicationsFaultsAreNoFindings) {
  std::vector<std::string> lines;
  for (const char* xid : {"13", "31", "43", "45", "63", "94", "9999"}) {
    lines.push_back("NVRM: Xid (PCI:0000:5d:00): " + std::string(xid) + ", pid=1, name=python");
  }
  EXPECT_EQ(verdict_of(node_saying(lines)).state, NodeState::Ok);
}

TEST(GpuFailedTest, AFatalXidSaysWhatHelps) {
  const Verdict verdict = verdict_of(node_saying({"NVRM: Xid (PCI:0000:18:00): 95, pid=1, name=a"}));
  const Finding* finding = failure(verdict);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->cause,
            "GPU 0000:18:00.0 (10de:2330) (1 of 8) reported a memory error that could not be contained (Xid 95)");
  EXPECT_EQ(finding->reboot_why, "a reset of the GPU clears it, and so does a reboot");
  EXPECT_NE(finding->next_step.find("nvidia-smi --gpu-reset -i 0000:18:00.0"), std::string::npos);
}

TEST(GpuFailedTest, TheDriversOwnWordOnRecoveryCounts) {
  const std::string off =
      "NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)";
  const std::string back =
      "NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x2 (OS Reboot) to 0x0 (None)";
  const Verdict verdict = verdict_of(node_saying({off}));
  ASSERT_NE(failure(verdict), nullptr);
  EXPECT_EQ(failure(verdict)->reboot_why, "the driver asks for 'OS Reboot'");
  EXPECT_NE(failure(verdict)->next_step.find("sudo reboot"), std::string::npos);
  EXPECT_EQ(verdict_of(node_saying({kOff, off, back})).state, NodeState::Ok);
  EXPECT_EQ(
      verdict_of(node_saying({"NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x3 "
                              "(Drain P2P)"}))
          .state,
      NodeState::Ok);
}

TEST(GpuFailedTest, WhatWasSaidBeforeTheDriverWasLoadedAnewIsPast) {
  EXPECT_EQ(verdict_of(node_saying({kOff, kLoading})).state, NodeState::Ok);
}

TEST(GpuFailedTest, AFaultThatComesAgainIsSinceTheNewLoad) {
  const Verdict verdict = verdict_of(node_saying({kOff, kLoading, kOff}));
  ASSERT_NE(failure(verdict), nullptr);
  EXPECT_EQ(failure(verdict)->since, kLogStart + std::chrono::milliseconds(2));
  EXPECT_NE(failure(verdict)->evidence[0].text.find("(2 times since "), std::string::npos);
}

TEST(GpuFailedTest, OtherFaultsOnOtherGpusAreCounted) {
  const Verdict verdict =
      verdict_of(node_saying({"NVRM: GPU 0000:18:00.0: RmInitAdapter failed! (0x62:0x65:1792)", kOff}));
  ASSERT_NE(failure(verdict), nullptr);
  EXPECT_EQ(failure(verdict)->cause,
            "GPU 0000:5d:00.0 (10de:2330) (1 of 8) has fallen off the bus (Xid 79); other faults on 1 more");
  EXPECT_EQ(failure(verdict)->affected_gpus.size(), 2u);
}

TEST(GpuFailedTest, AProbeThatFailedCountsUntilTheDriverHoldsTheGpu) {
  Snapshot s = node_saying({"nvidia 0000:18:00.0: probe with driver nvidia failed with error -1"});
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
  std::vector<Gpu> gpus = s.gpus.value();
  gpus[0].driver = absent<std::string>();
  s.gpus = known(gpus);
  const Verdict verdict = verdict_of(s);
  ASSERT_NE(failure(verdict), nullptr);
  EXPECT_EQ(failure(verdict)->reboot_helps, RebootHelps::No);
  s.kernel_log = kernel_log({kLoading});
  EXPECT_EQ(verdict_of(s).state, NodeState::Unknown) << "bound to nothing, and no word why";
  EXPECT_NE(verdict_of(s).why.find("the kernel log names no reason"), std::string::npos);
}

TEST(GpuFailedTest, AGpuOfAVirtualMachineIsItsAffair) {
  Snapshot s = node_saying({kOff});
  std::vector<Gpu> gpus = s.gpus.value();
  gpus[3].driver = known<std::string>("vfio-pci");
  s.gpus = known(gpus);
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
}

TEST(GpuFailedTest, AnUnknownLogProvesNothing) {
  Snapshot s = node_saying({});
  s.kernel_log = denied<std::vector<KernelLogEvent>>();
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
}

}  // namespace
}  // namespace gpuskew::testing
