// The rule of core/rules/module_rejected.cc, through judge().

#include <string>

#include <gtest/gtest.h>

#include "core/judge.h"
#include "core/rules/rules.h"
#include "log_lines.h"

namespace gpuskew::testing {
namespace {

using namespace std::chrono_literals;

/// healthy_node after a reboot on its kernel, with a module that is not loaded.
Snapshot unloaded_node() {
  Snapshot s = bumped_node();
  s.kernel = healthy_node().kernel;
  s.module_file = healthy_node().module_file;
  s.lockdown = absent<std::string>();
  s.secure_boot = known(true);
  s.kernel_log = kernel_log({});
  s.taken_at = kBoot + 1min;
  return s;
}

Verdict verdict_of(const Snapshot& s, Time now = kBoot + 1min, NodeHistory history = history_of_healthy()) {
  return judge(s, history, JudgePolicy{}, nullptr, now, now);
}

const Finding* rejection(const Verdict& verdict) {
  const bool is_one = !verdict.findings.empty() && verdict.findings[0].code == FindingCode::ModuleRejected;
  return is_one ? &verdict.findings[0] : nullptr;
}

TEST(ModuleRejectedTest, IsFinalAtOnceWhereTheLogSaysSo) {
  Snapshot s = unloaded_node();
  s.kernel_log = kernel_log({"Loading of module with unavailable key is rejected"});
  const Verdict verdict = verdict_of(s);
  const Finding* finding = rejection(verdict);
  ASSERT_NE(finding, nullptr) << verdict.why;
  EXPECT_EQ(verdict.state, NodeState::Broken);
  EXPECT_EQ(finding->severity, Severity::Critical);
  EXPECT_EQ(finding->reboot_helps, RebootHelps::No);
  EXPECT_EQ(
      finding->cause,
      "the kernel refuses the nvidia module: its signature is missing, or by a key that the kernel does not trust");
  EXPECT_EQ(finding->evidence[0].text, "Loading of module with unavailable key is rejected");
  EXPECT_EQ(finding->evidence[0].source, "journal");
  EXPECT_EQ(finding->next_step,
            "ssh -t gpu-node-1 'sudo mokutil --import /var/lib/shim-signed/mok/MOK.der && sudo reboot'");
  EXPECT_EQ(finding->since, kLogStart);
}

TEST(ModuleRejectedTest, WithoutALineTheBootHasItsGrace) {
  const Verdict verdict = verdict_of(unloaded_node());
  EXPECT_EQ(verdict.state, NodeState::Starting);
}

TEST(ModuleRejectedTest, AnUnnamedRefusalMayMeanAnotherModuleThanAPackagersOwn) {
  Snapshot s = unloaded_node();
  s.module_file =
      known(ModuleFile{"/lib/modules/5.15.0-119-generic/kernel/nvidia-550/nvidia.ko", known(driver("550.90.07"))});
  s.kernel_log = kernel_log({"Loading of unsigned module is rejected"});
  EXPECT_EQ(verdict_of(s).state, NodeState::Starting);
  EXPECT_NE(rejection(verdict_of(s, kBoot + 11min)), nullptr);
}

TEST(ModuleRejectedTest, AKernelThatTookTheModuleInThisBootMeantAnotherOne) {
  Snapshot s = unloaded_node();
  s.kernel_log = kernel_log({"Loading of unsigned module is rejected"});
  NodeHistory history = history_of_healthy();
  history.last_good->boot_id = "boot-b";
  history.last_good->at = kBoot + 30s;
  EXPECT_EQ(verdict_of(s, kBoot + 1min, history).findings.at(0).code, FindingCode::DriverNotLoaded);
}

TEST(ModuleRejectedTest, WhatWasSaidBeforeTheDriverWasLoadedIsPast) {
  Snapshot s = unloaded_node();
  s.kernel_log = kernel_log({"nvidia: Unknown symbol x (err -2)", kLoading});
  EXPECT_EQ(verdict_of(s).state, NodeState::Starting);
}

TEST(ModuleRejectedTest, ALoadedModuleIsNotRejected) {
  Snapshot s = healthy_node();
  s.kernel_log = kernel_log({"Loading of unsigned module is rejected"});
  EXPECT_EQ(rejection(verdict_of(s, kLongAfterBoot)), nullptr);
}

TEST(ModuleRejectedTest, WithoutAFileItsAbsenceIsTheCause) {
  Snapshot s = unloaded_node();
  s.module_file = absent<ModuleFile>();
  s.kernel_log = kernel_log({"Loading of unsigned module is rejected"});
  EXPECT_EQ(verdict_of(s).findings.at(0).code, FindingCode::DriverNotLoaded);
}

TEST(ModuleRejectedTest, AfterAKernelBumpTheBumpIsTheFinding) {
  Snapshot s = unloaded_node();
  s.kernel = known(kernel("5.15.0-122-generic"));
  s.kernel_log = kernel_log({"Loading of unsigned module is rejected"});
  EXPECT_EQ(rejection(verdict_of(s, kBoot + 1h)), nullptr);
  const NodeHistory history = history_of_healthy();
  const rules::Scene scene{s, history, JudgePolicy{}, nullptr, &*history.last_good, kBoot + 1h};
  ASSERT_TRUE(rules::refusal(scene)) << "for the cause of that finding";
}

TEST(ModuleRejectedTest, AnotherKernelsFileIsAReasonOnlyAfterTheGrace) {
  Snapshot s = unloaded_node();
  ModuleFile file = *s.module_file;
  file.built_for = known(kernel("5.15.0-122-generic"), file.path);
  s.module_file = known(file);
  EXPECT_EQ(verdict_of(s).state, NodeState::Starting);
  const Verdict verdict = verdict_of(s, kBoot + 11min);
  ASSERT_NE(rejection(verdict), nullptr);
  EXPECT_EQ(
      rejection(verdict)->cause,
      "the kernel refuses the nvidia module: it is built for kernel 5.15.0-122-generic, not for 5.15.0-119-generic");
}

TEST(ModuleRejectedTest, AWeakUpdateOfAnotherKernelIsLegitimate) {
  Snapshot s = unloaded_node();
  ModuleFile file{"/lib/modules/5.15.0-119-generic/weak-updates/nvidia/nvidia.ko", known(driver("550.90.07"))};
  file.built_for = known(kernel("5.15.0-100-generic"));
  s.module_file = known(file);
  EXPECT_EQ(rejection(verdict_of(s, kBoot + 1h)), nullptr);
  file.path = "/lib/modules/5.15.0-100-generic/extra/nvidia/nvidia.ko";
  s.module_file = known(file);
  EXPECT_EQ(rejection(verdict_of(s, kBoot + 1h)), nullptr) << "the file such a link ends at";
}

TEST(ModuleRejectedTest, SaysWhichOptionsDiffer) {
  Snapshot s = unloaded_node();
  s.kernel_log =
      kernel_log({"nvidia: version magic '5.15.0-119-generic SMP preempt ' should be '5.15.0-119-generic SMP '"});
  const Verdict verdict = verdict_of(s);
  ASSERT_NE(rejection(verdict), nullptr);
  EXPECT_NE(rejection(verdict)->cause.find("built with other options ('5.15.0-119-generic SMP preempt')"),
            std::string::npos);
}

TEST(ModuleRejectedTest, ANodeWithoutAGpuExpectsNoModule) {
  Snapshot s = unloaded_node();
  s.gpus = denied<std::vector<Gpu>>();
  s.kernel_log = kernel_log({"nvidia: Unknown symbol x (err -2)"});
  EXPECT_EQ(verdict_of(s, kBoot + 1h, NodeHistory{}).state, NodeState::Unknown);
}

TEST(ModuleRejectedTest, ADriverThatTakesNoGpuDoesNotStayLoaded) {
  Snapshot s = unloaded_node();
  s.kernel_log = kernel_log(
      {"nvidia: probe of 0000:af:00.0 failed with error -1", "NVRM: None of the NVIDIA devices were initialized."});
  const Verdict verdict = verdict_of(s);
  ASSERT_EQ(verdict.findings.at(0).code, FindingCode::GpuFailed);
  EXPECT_EQ(verdict.findings[0].affected_gpus, std::vector<std::string>{"0000:af:00.0"});
}

}  // namespace
}  // namespace gpuskew::testing
