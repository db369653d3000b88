#include "core/judge.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "nodes.h"

namespace gpuskew::testing {
namespace {

Verdict judge_at(const Snapshot& snapshot, const NodeHistory& history, Time now, const Matrix* matrix = nullptr) {
  return judge(snapshot, history, JudgePolicy{}, matrix, now, now);
}

bool mentions(const Finding& finding, std::string_view words) {
  const auto has = [words](const Evidence& e) { return e.text.find(words) != std::string::npos; };
  return finding.cause.find(words) != std::string::npos ||
         std::any_of(finding.evidence.begin(), finding.evidence.end(), has);
}

TEST(Judge, FindsNothingOnAHealthyNode) {
  const Verdict verdict = judge_at(healthy_node(), NodeHistory{}, kLongAfterBoot);
  EXPECT_EQ(verdict.state, NodeState::Ok);
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(Judge, TellsTheWholeStoryOfAGpuGoneAfterAKernelBump) {
  const Verdict verdict = judge_at(bumped_node(), history_of_healthy(), kLongAfterBoot);
  ASSERT_EQ(verdict.findings.size(), 1u);
  const Finding& finding = verdict.findings.front();
  EXPECT_EQ(verdict.state, NodeState::Broken);
  EXPECT_EQ(finding.code, FindingCode::GpuGoneAfterKernelBump);
  EXPECT_EQ(finding.severity, Severity::Critical);
  EXPECT_EQ(finding.since, kBoot);
  EXPECT_TRUE(mentions(finding, "5.15.0-119-generic"));
  EXPECT_TRUE(mentions(finding, "5.15.0-122-generic"));
  EXPECT_TRUE(mentions(finding, "550.90.07"));
  EXPECT_TRUE(mentions(finding, "no nvidia module file for 5.15.0-122-generic"));
  EXPECT_TRUE(mentions(finding, "550-5.15.0-122-generic-ubuntu22.04"));
  EXPECT_EQ(finding.reboot_helps, RebootHelps::No);
  EXPECT_NE(finding.next_step.find("dkms autoinstall -k 5.15.0-122-generic"), std::string::npos);
  EXPECT_EQ(finding.affected_gpus, (std::vector<std::string>{"0000:3b:00.0", "0000:af:00.0"}));
}

TEST(Judge, AlarmsInsideTheGraceWhenNothingCanLoadADriverAnyMore) {
  const Verdict verdict = judge_at(bumped_node(), history_of_healthy(), kBoot + std::chrono::seconds(5));
  EXPECT_EQ(verdict.state, NodeState::Broken);
}

TEST(Judge, GivesAServiceThatBuildsModulesAtBootItsTime) {
  Snapshot s = bumped_node();
  s.boot_builders = known(std::vector<BootBuilder>{{"dkms", "/etc/systemd/system/multi-user.target.wants"}});
  EXPECT_EQ(judge_at(s, history_of_healthy(), kBoot + std::chrono::seconds(5)).state, NodeState::Starting);
  EXPECT_EQ(judge_at(s, history_of_healthy(), kLongAfterBoot).state, NodeState::Broken);
}

TEST(Judge, SaysThatARebootHelpsWhereTheBootLoaderTakesAKernelWithADriver) {
  Snapshot s = bumped_node();
  s.next_kernel = known(NextKernel{kernel("5.15.0-119-generic"), "saved_entry of grubenv"});
  ModuleFile file;
  file.path = "/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko";
  file.version = known(driver("550.90.07"));
  file.built_for = known(kernel("5.15.0-119-generic"));
  s.kernels = known(std::vector<InstalledKernel>{{kernel("5.15.0-119-generic"), true, true, known(file)},
                                                 {kernel("5.15.0-122-generic"), true, true, absent<ModuleFile>()}});
  const Verdict verdict = judge_at(s, history_of_healthy(), kLongAfterBoot);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().reboot_helps, RebootHelps::Yes) << verdict.findings.front().reboot_why;
  EXPECT_EQ(verdict.findings.front().next_step,
            "kubectl drain gpu-node-1 --ignore-daemonsets && ssh gpu-node-1 sudo reboot");
}

TEST(Judge, NamesTheRefusalThatTookTheDriverAwayWithTheKernel) {
  Snapshot s = bumped_node();
  s.module_file =
      known(ModuleFile{"/lib/modules/5.15.0-122-generic/updates/dkms/nvidia.ko", known(driver("550.90.07"))});
  KernelLogEvent refused;
  refused.kind = KernelLogKind::VersionMagic;
  refused.ours = "5.15.0-122-generic SMP";
  refused.theirs = "5.15.0-119-generic SMP";
  refused.text = "nvidia: version magic";
  refused.first_at = refused.last_at = kBoot + std::chrono::seconds(3);
  refused.count = 1;
  s.kernel_log = known(std::vector<KernelLogEvent>{refused}, "journal");
  const Verdict verdict = judge_at(s, history_of_healthy(), kBoot + std::chrono::seconds(5));
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::GpuGoneAfterKernelBump);
  EXPECT_TRUE(mentions(verdict.findings.front(), "because the kernel refuses it: it is built for kernel 5.15.0-119"))
      << verdict.findings.front().cause;
}

TEST(Judge, WaitsForTheGraceWhenAModuleFileIsThere) {
  Snapshot s = bumped_node();
  s.module_file =
      known(ModuleFile{"/lib/modules/5.15.0-122-generic/updates/dkms/nvidia.ko", known(driver("550.90.07"))});
  const JudgePolicy policy;
  const Verdict inside = judge_at(s, history_of_healthy(), kBoot + std::chrono::minutes(1));
  EXPECT_EQ(inside.state, NodeState::Starting);
  EXPECT_TRUE(inside.findings.empty());
  ASSERT_TRUE(inside.revisit_at.has_value());
  EXPECT_LE(*inside.revisit_at, kBoot + policy.boot_grace);

  const Verdict after = judge_at(s, history_of_healthy(), kBoot + policy.boot_grace);
  ASSERT_EQ(after.findings.size(), 1u);
  EXPECT_EQ(after.findings.front().code, FindingCode::GpuGoneAfterKernelBump);
  EXPECT_EQ(after.findings.front().reboot_helps, RebootHelps::Unknown);
}

TEST(Judge, GivesADriverContainerTimeToCompile) {
  NodeHistory history = history_of_healthy();
  history.last_good->from_container = true;
  const JudgePolicy policy;
  EXPECT_EQ(judge_at(bumped_node(), history, kBoot + policy.boot_grace).state, NodeState::Starting);
  EXPECT_EQ(judge_at(bumped_node(), history, kBoot + policy.container_grace).state, NodeState::Broken);
}

TEST(Judge, NeverTakesAnUnreadableModuleFileForAMissingOne) {
  Snapshot s = bumped_node();
  s.module_file = denied<ModuleFile>();
  const Verdict verdict = judge_at(s, history_of_healthy(), kBoot + std::chrono::seconds(5));
  EXPECT_EQ(verdict.state, NodeState::Starting);
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(Judge, TakesTheAgentsMemoryWhereTheAggregatorHasNone) {
  Snapshot s = bumped_node();
  s.remembered = good_state(healthy_node());
  s.remembered->at = kBoot - std::chrono::hours(1);
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::GpuGoneAfterKernelBump);
}

TEST(Judge, NamesTheMissingImageOfADriverContainer) {
  NodeHistory history = history_of_healthy();
  history.last_good->from_container = true;
  const Matrix matrix = Matrix::parse_csv("driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n").value();
  const Verdict verdict = judge_at(bumped_node(), history, kLongAfterBoot, &matrix);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_TRUE(mentions(verdict.findings.front(), "550-5.15.0-122-generic-ubuntu22.04 does not exist"));
  EXPECT_EQ(verdict.findings.front().reboot_helps, RebootHelps::No);
}

TEST(Judge, CallsADriverThatWasTakenAwayInThisBootNotLoadedAtOnce) {
  Snapshot s = healthy_node();
  s.loaded_driver = absent<DriverVersion>();
  NodeHistory history;
  history.last_good = good_state(healthy_node());
  history.last_good->at = kLongAfterBoot - std::chrono::seconds(1);
  const Verdict verdict = judge_at(s, history, kLongAfterBoot);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::DriverNotLoaded);
  EXPECT_EQ(verdict.findings.front().severity, Severity::Critical);
  EXPECT_EQ(verdict.findings.front().since, history.last_good->at);
}

TEST(Judge, WarnsOfAGpuThatNeverHadADriverOnlyAfterTheGrace) {
  Snapshot s = bumped_node();
  EXPECT_EQ(judge_at(s, NodeHistory{}, kBoot + std::chrono::minutes(1)).state, NodeState::Starting);
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::DriverNotLoaded);
  EXPECT_EQ(verdict.findings.front().severity, Severity::Warning);
}

TEST(Judge, IsQuietOnAMachineWithoutAnNvidiaGpu) {
  Snapshot s = bumped_node();
  s.gpus = known(std::vector<Gpu>{});
  s.libraries = absent<std::vector<Library>>();
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  EXPECT_EQ(verdict.state, NodeState::NoGpu);
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(Judge, SaysUnknownWhenTheModuleOrTheBusCanNotBeRead) {
  Snapshot s = healthy_node();
  s.loaded_driver = denied<DriverVersion>("/sys/module/nvidia/version");
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_NE(verdict.why.find("permission denied"), std::string::npos);

  Snapshot t = bumped_node();
  t.gpus = denied<std::vector<Gpu>>();
  EXPECT_EQ(judge_at(t, NodeHistory{}, kLongAfterBoot).state, NodeState::Unknown);
  EXPECT_EQ(judge_at(Snapshot{}, NodeHistory{}, kLongAfterBoot).state, NodeState::Unknown);
}

TEST(Judge, SaysUnknownWhenTheLibrariesCanNotBeRead) {
  Snapshot s = healthy_node();
  s.libraries = denied<std::vector<Library>>();
  EXPECT_EQ(judge_at(s, NodeHistory{}, kLongAfterBoot).state, NodeState::Unknown);
}

TEST(Judge, CallsNothingWellWhenTheGpusTheirDriverOrTheKernelCanNotBeRead) {
  Snapshot no_bus = healthy_node();
  no_bus.gpus = denied<std::vector<Gpu>>();
  EXPECT_EQ(judge_at(no_bus, NodeHistory{}, kLongAfterBoot).state, NodeState::Unknown);
  Snapshot no_binding = healthy_node();
  no_binding.gpus = known(std::vector<Gpu>{Gpu{"0000:3b:00.0", 0x20b0, denied<std::string>()}});
  EXPECT_EQ(judge_at(no_binding, NodeHistory{}, kLongAfterBoot).state, NodeState::Unknown);
  Snapshot no_kernel = healthy_node();
  no_kernel.kernel = denied<KernelRelease>();
  EXPECT_EQ(judge_at(no_kernel, NodeHistory{}, kLongAfterBoot).state, NodeState::Unknown);
}

TEST(Judge, IsNeitherAlarmedNorSatisfiedByALoadedDriverThatHoldsNoGpu) {
  Snapshot s = healthy_node();
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0"), gpu("0000:af:00.0", "")});
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_NE(verdict.why.find("0000:af:00.0"), std::string::npos);
}

TEST(Judge, SaysUnknownWhenAMatrixIsThereAndNoTagCanBeMade) {
  const Matrix matrix = Matrix::parse_csv("driver_branch,kernel,os_tag\n").value();
  Snapshot s = healthy_node();
  s.os = known(OsIdentity{"arch", std::nullopt, "Arch Linux", "", "", ""});
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot, &matrix);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_NE(verdict.why.find("VERSION_ID"), std::string::npos);
  EXPECT_EQ(judge_at(s, NodeHistory{}, kLongAfterBoot).state, NodeState::Ok);
}

TEST(Judge, SaysUnknownWhenAMountedDriverContainerHasNoLibraries) {
  Snapshot s = healthy_node();
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = known(std::vector<Library>{library("535.54.03")});
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::InstallConflict) << "two stacks, whatever the container holds";
}

TEST(Judge, DoesNotLetAClockThatWasWrongAtBootSkipTheGrace) {
  Snapshot s = bumped_node();
  s.module_file = known(ModuleFile{"/lib/modules/x/nvidia.ko", known(driver("550.90.07"))});
  s.boot_time = known(from_unix_ms(946'684'800'000));  // a dead clock battery
  NodeHistory history = history_of_healthy();
  history.last_good->at = kLongAfterBoot;
  EXPECT_EQ(judge_at(s, history, kLongAfterBoot + std::chrono::minutes(1)).state, NodeState::Starting);
  EXPECT_EQ(judge_at(s, history, kLongAfterBoot + std::chrono::minutes(11)).state, NodeState::Broken);
}

TEST(Judge, MakesNoAlarmOfAnotherSpellingOfOneVersion) {
  Snapshot s = healthy_node();
  s.loaded_driver = known(driver("570.133.07"));
  s.libraries = known(std::vector<Library>{library("570.133.7")});
  EXPECT_EQ(judge_at(s, NodeHistory{}, kLongAfterBoot).state, NodeState::Ok);
}

struct DiskCase {
  Fact<DriverVersion> on_disk;
  RebootHelps helps;
};

TEST(Judge, SaysByTheModuleOnDiskWhetherARebootMendsALibraryMismatch) {
  const std::vector<DiskCase> cases{{known(driver("535.183.06")), RebootHelps::Yes},
                                    {known(driver("535.183.01")), RebootHelps::No},
                                    {known(driver("535.54.03")), RebootHelps::No},
                                    {denied<DriverVersion>(), RebootHelps::Unknown}};
  for (const DiskCase& each : cases) {
    Snapshot s = healthy_node();
    s.loaded_driver = known(driver("535.183.01"));
    s.libraries = known(std::vector<Library>{library("535.183.06")});
    s.module_file = known(ModuleFile{"/lib/modules/k/updates/dkms/nvidia.ko", each.on_disk});
    const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
    ASSERT_EQ(verdict.findings.size(), 1u);
    const Finding& finding = verdict.findings.front();
    EXPECT_EQ(finding.code, FindingCode::DriverLibraryMismatch);
    EXPECT_TRUE(mentions(finding, "535.183.01"));
    EXPECT_TRUE(mentions(finding, "535.183.06"));
    EXPECT_EQ(finding.reboot_helps, each.helps) << finding.reboot_why;
  }
  Snapshot s = healthy_node();
  s.libraries = known(std::vector<Library>{library("550.107.02")});
  s.module_file = absent<ModuleFile>();
  EXPECT_EQ(judge_at(s, NodeHistory{}, kLongAfterBoot).findings.front().reboot_helps, RebootHelps::No);
}

TEST(Judge, ComparesAContainersModuleWithTheContainersLibraries) {
  Snapshot s = healthy_node();
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = known(std::vector<Library>{library("550.90.07"), library("550.90.07", DriverRoot::Container)});
  EXPECT_EQ(judge_at(s, NodeHistory{}, kLongAfterBoot).state, NodeState::Ok);
  s.libraries = known(std::vector<Library>{library("535.54.03"), library("550.90.07", DriverRoot::Container)});
  const Verdict verdict = judge_at(s, NodeHistory{}, kLongAfterBoot);
  EXPECT_EQ(verdict.state, NodeState::Degraded) << "they agree, but the host's own libraries do not";
  EXPECT_EQ(verdict.findings.front().code, FindingCode::InstallConflict);
}

TEST(Judge, BlamesNouveauOnlyWhereNvidiaCouldHaveLoaded) {
  Snapshot s = bumped_node();
  s.module_file =
      known(ModuleFile{"/lib/modules/5.15.0-122-generic/updates/dkms/nvidia.ko", known(driver("550.90.07"))});
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0", "nouveau")});
  EXPECT_EQ(judge_at(s, history_of_healthy(), kLongAfterBoot).findings.front().code, FindingCode::WrongDriverBound);
  s.module_file = absent<ModuleFile>();
  const Verdict verdict = judge_at(s, history_of_healthy(), kLongAfterBoot);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::GpuGoneAfterKernelBump);
  EXPECT_TRUE(mentions(verdict.findings.front(), "nouveau"));
}

TEST(Judge, DoesNotJudgePassthroughOrJetson) {
  Snapshot s = bumped_node();
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0", "vfio-pci")});
  EXPECT_EQ(judge_at(s, history_of_healthy(), kLongAfterBoot).state, NodeState::NotJudged);
  Snapshot jetson = bumped_node();
  jetson.l4t_release = known<std::string>("35.3.1");
  EXPECT_EQ(judge_at(jetson, NodeHistory{}, kLongAfterBoot).state, NodeState::NotJudged);
}

TEST(Judge, SaysThatTheGpusLeftTheBusBeforeItSpeaksOfDrivers) {
  Snapshot s = bumped_node();
  s.gpus = known(std::vector<Gpu>{});
  const Verdict verdict = judge_at(s, history_of_healthy(), kLongAfterBoot);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::GpuCountDrop);
}

TEST(Judge, DoesNotCallADriverWithoutAnyGpuWell) {
  Snapshot s = healthy_node();
  s.gpus = known(std::vector<Gpu>{});
  EXPECT_EQ(judge_at(s, NodeHistory{}, kLongAfterBoot).state, NodeState::NoGpu);
}

TEST(Judge, WarnsOfAMissingImageOnANodeThatStillWorks) {
  const Matrix matrix = Matrix::parse_csv("driver_branch,kernel,os_tag\n550,6.8.0-45-generic,ubuntu24.04\n").value();
  const Verdict verdict = judge_at(healthy_node(), NodeHistory{}, kLongAfterBoot, &matrix);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.state, NodeState::Degraded);
  EXPECT_EQ(verdict.findings.front().code, FindingCode::ImageMissing);
  EXPECT_TRUE(mentions(verdict.findings.front(), "550-5.15.0-119-generic-ubuntu22.04"));
}

TEST(Judge, DoesNotCallASilentNodeWell) {
  const JudgePolicy policy;
  const Time heard = kLongAfterBoot;
  const Verdict before =
      judge(healthy_node(), NodeHistory{}, policy, nullptr, heard, heard + policy.silent_after - Duration{1});
  EXPECT_EQ(before.state, NodeState::Ok);
  EXPECT_EQ(before.revisit_at, heard + policy.silent_after);
  const Verdict after = judge(healthy_node(), NodeHistory{}, policy, nullptr, heard, heard + policy.silent_after);
  EXPECT_EQ(after.state, NodeState::Unknown);
  ASSERT_EQ(after.findings.size(), 1u);
  EXPECT_EQ(after.findings.front().code, FindingCode::AgentSilent);
  EXPECT_EQ(after.findings.front().since, heard);
}

TEST(Judge, CountsFromTheFirstReportWhenTheBootTimeLiesInTheFuture) {
  Snapshot s = bumped_node();
  s.module_file = denied<ModuleFile>();
  s.boot_time = known(kLongAfterBoot + std::chrono::hours(24 * 365));
  NodeHistory history = history_of_healthy();
  history.boot_first_seen = kLongAfterBoot;
  EXPECT_EQ(judge_at(s, history, kLongAfterBoot + std::chrono::minutes(1)).state, NodeState::Starting);
  EXPECT_EQ(judge_at(s, history, kLongAfterBoot + std::chrono::minutes(11)).state, NodeState::Broken);
}

TEST(Judge, LetsNoNodePutACommandIntoTheNextStep) {
  Snapshot s = bumped_node();
  s.kernel = known(kernel("5.15;reboot"));
  const Verdict verdict = judge_at(s, history_of_healthy(), kLongAfterBoot);
  EXPECT_NE(verdict.findings.front().next_step.find("'5.15;reboot'"), std::string::npos);
}

TEST(WantedDriver, IsTheLastGoodOneWhenTheDriverIsGone) {
  EXPECT_EQ(wanted_driver(healthy_node(), NodeHistory{})->text(), "550.90.07");
  EXPECT_EQ(wanted_driver(bumped_node(), history_of_healthy())->text(), "550.90.07");
  EXPECT_TRUE(wanted_driver(bumped_node(), NodeHistory{}).is_absent());
  Snapshot unreadable = bumped_node();
  unreadable.loaded_driver = denied<DriverVersion>();
  EXPECT_TRUE(wanted_driver(unreadable, history_of_healthy()).is_unknown());
  EXPECT_EQ(node_tag(bumped_node(), history_of_healthy(), TagPolicy{})->text, "550-5.15.0-122-generic-ubuntu22.04");
}

}  // namespace
}  // namespace gpuskew::testing
