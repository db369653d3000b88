#include <gtest/gtest.h>

#include "core/judge.h"
#include "nodes.h"

namespace gpuskew::testing {
namespace {

using namespace std::chrono_literals;

KernelModule module(std::string name, ModuleState state, Time since = Time{}) {
  KernelModule result;
  result.name = std::move(name);
  result.state = state;
  result.state_since = since;
  return result;
}

Snapshot node_with(std::vector<KernelModule> modules) {
  Snapshot s = healthy_node();
  s.modules = known(std::move(modules), "/proc/modules");
  return s;
}

KernelLogEvent trace(std::string text, Time at) {
  KernelLogEvent event;
  event.kind = KernelLogKind::KernelTrace;
  event.text = std::move(text);
  event.first_at = at;
  event.last_at = at;
  event.count = 1;
  return event;
}

Verdict judge_at(const Snapshot& snapshot, Time now) {
  return judge(snapshot, NodeHistory{}, JudgePolicy{}, nullptr, now, now);
}

bool is_wedged(const Verdict& verdict) {
  return !verdict.findings.empty() && verdict.findings.front().code == FindingCode::ModuleWedged;
}

const Time kNow = kLongAfterBoot;

TEST(ModuleWedged, IsAModuleThatUnloadsForLongerThanThePolicyAllows) {
  const Snapshot s =
      node_with({module("nvidia_uvm", ModuleState::Unloading, kNow - 60s), module("nvidia", ModuleState::Live)});
  const Verdict verdict = judge_at(s, kNow);
  ASSERT_TRUE(is_wedged(verdict));
  const Finding& finding = verdict.findings.front();
  EXPECT_EQ(verdict.state, NodeState::Broken);
  EXPECT_EQ(finding.severity, Severity::Critical);
  EXPECT_EQ(finding.since, kNow - 60s);
  EXPECT_EQ(finding.cause, "kernel module nvidia_uvm hangs in unloading and can not be removed");
  EXPECT_EQ(finding.reboot_helps, RebootHelps::Yes);
  EXPECT_EQ(finding.next_step, "kubectl drain gpu-node-1 --ignore-daemonsets && ssh gpu-node-1 sudo reboot");
  ASSERT_EQ(finding.evidence.size(), 2u);
  EXPECT_EQ(finding.evidence[0].source, "/proc/modules");
  EXPECT_NE(finding.evidence[1].text.find("nvidia is live"), std::string::npos);
}

TEST(ModuleWedged, IsNotSaidOfAnUnloadingThatMayStillEnd) {
  const Snapshot s = node_with({module("nvidia_uvm", ModuleState::Unloading, kNow - 59s)});
  const Verdict verdict = judge_at(s, kNow);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_NE(verdict.why.find("nvidia_uvm is being unloaded"), std::string::npos);
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_EQ(verdict.revisit_at, kNow + 1s);
  EXPECT_TRUE(is_wedged(judge_at(s, kNow + 1s)));
}

TEST(ModuleWedged, IsSaidAtOnceOfAnUnloadingWhoseTraceIsInTheKernelLog) {
  Snapshot s = node_with({module("nvidia_uvm", ModuleState::Unloading, kNow)});
  s.kernel_log = known(std::vector{trace("uvm_global_exit+0x68/0xe8 [nvidia_uvm]", kNow - 10s)}, "journal");
  const Verdict verdict = judge_at(s, kNow);
  ASSERT_TRUE(is_wedged(verdict));
  EXPECT_EQ(verdict.findings.front().evidence.at(1).source, "journal");
}

TEST(ModuleWedged, IsNotSaidBecauseOfATraceOfLongAgo) {
  Snapshot s = node_with({module("nvidia_uvm", ModuleState::Unloading, kNow)});
  s.kernel_log = known(std::vector{trace("os_acquire+0x1 [nvidia]", kNow - 1h)});
  EXPECT_FALSE(is_wedged(judge_at(s, kNow)));
}

TEST(ModuleWedged, IsSaidHoweverLongAgoTheTraceMarkedTheModuleAsUnloading) {
  Snapshot s = node_with({module("nvidia_uvm", ModuleState::Unloading, kNow)});
  s.kernel_log = known(std::vector{trace("Modules linked in: nvidia_uvm(OE-) nvidia(OE)", kNow - 1h)});
  EXPECT_TRUE(is_wedged(judge_at(s, kNow)));
  s.modules = known(std::vector{module("nvidia", ModuleState::Unloading, kNow)});
  EXPECT_FALSE(is_wedged(judge_at(s, kNow))) << "the trace marks another module";
}

TEST(ModuleWedged, IsNotSaidBecauseOfATraceOfAnEarlierLoad) {
  Snapshot s = node_with({module("nvidia_uvm", ModuleState::Unloading, kNow)});
  KernelLogEvent loaded = trace("NVRM: loading NVIDIA UNIX x86_64 Kernel Module", kNow - 30s);
  loaded.kind = KernelLogKind::DriverLoaded;
  s.kernel_log = known(std::vector{trace("Modules linked in: nvidia_uvm(OE-)", kNow - 40s), loaded});
  EXPECT_FALSE(is_wedged(judge_at(s, kNow)));
}

TEST(ModuleWedged, WaitsForTheEndOfTheBootsGraceWhileAModuleLoads) {
  const JudgePolicy policy;
  const Snapshot s = node_with({module("nvidia", ModuleState::Loading, kBoot + 10s)});
  const Verdict inside = judge_at(s, kBoot + 5min);
  EXPECT_EQ(inside.state, NodeState::Starting);
  ASSERT_TRUE(inside.revisit_at.has_value());
  EXPECT_LE(*inside.revisit_at, kBoot + policy.boot_grace);
  EXPECT_TRUE(is_wedged(judge_at(s, kBoot + policy.boot_grace)));
}

TEST(ModuleWedged, GivesADriverContainersModuleItsGrace) {
  const JudgePolicy policy;
  Snapshot s = node_with({module("nvidia", ModuleState::Loading, kBoot + 10s)});
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  EXPECT_EQ(judge_at(s, kBoot + policy.boot_grace).state, NodeState::Starting);
  EXPECT_TRUE(is_wedged(judge_at(s, kBoot + policy.container_grace)));
}

TEST(ModuleWedged, IsAModuleThatLoadsForTooLongOnceTheNodeIsUp) {
  const Snapshot s = node_with({module("nvidia_drm", ModuleState::Loading, kNow - 60s)});
  const Verdict verdict = judge_at(s, kNow);
  ASSERT_TRUE(is_wedged(verdict));
  EXPECT_EQ(verdict.findings.front().cause, "kernel module nvidia_drm hangs in loading and can not be removed");
}

TEST(ModuleWedged, IsNotGuessedFromAStateThatNobodyDated) {
  const Verdict verdict = judge_at(node_with({module("nvidia_uvm", ModuleState::Unloading)}), kNow);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_FALSE(is_wedged(verdict));
}

TEST(ModuleWedged, IsNotSaidOfOtherDriversModulesOrOfLiveOnes) {
  const Snapshot s = node_with({module("nouveau", ModuleState::Unloading, kNow - 1h),
                                module("nvidia", ModuleState::Live), module("nvidia_uvm", ModuleState::Live)});
  EXPECT_EQ(judge_at(s, kNow).state, NodeState::Ok);
}

TEST(ModuleWedged, IsLeftToOtherLayersWhereTheModulesAreUnknown) {
  Snapshot s = healthy_node();
  s.modules = denied<std::vector<KernelModule>>();
  EXPECT_EQ(judge_at(s, kNow).state, NodeState::Ok);
}

TEST(ModuleWedged, FindsTheModuleThatIsStuckBehindOneThatIsNotYet) {
  const Snapshot s = node_with({module("nvidia_drm", ModuleState::Unloading, kNow - 1s),
                                module("nvidia_uvm", ModuleState::Unloading, kNow - 90s)});
  const Verdict verdict = judge_at(s, kNow);
  ASSERT_TRUE(is_wedged(verdict));
  EXPECT_NE(verdict.findings.front().cause.find("nvidia_uvm"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew::testing
