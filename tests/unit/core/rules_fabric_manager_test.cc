#include <string>

#include <gtest/gtest.h>

#include "tests/unit/core/verdicts.h"

namespace gpuskew::testing {
namespace {

Snapshot with_manager(std::string_view version, int switches) {
  Snapshot s = healthy_node();
  s.fabric_manager = known(driver(version), "/var/lib/dpkg/status");
  std::vector<PciFunction> functions;
  for (int i = 0; i < switches; ++i) {
    functions.push_back({"0005:00:0" + std::to_string(i) + ".0", 0x1af1, FunctionKind::NvSwitch});
  }
  s.pci_functions = known(std::move(functions));
  s.installs = known(std::vector<InstallTrace>{
      {InstallKind::Deb, InstallPart::FabricManager, "nvidia-fabricmanager-550", std::string(version) + "-1", "test"}});
  return s;
}

KernelLogEvent refusal(std::string ours, std::string theirs) {
  KernelLogEvent event;
  event.kind = KernelLogKind::FabricManagerVersion;
  event.ours = std::move(ours);
  event.theirs = std::move(theirs);
  event.text = "fabric manager NVIDIA GPU driver interface version " + event.theirs + " don't match";
  event.last_at = kBoot;
  return event;
}

const Finding* mismatch_in(const Verdict& verdict) {
  return find(verdict, FindingCode::FabricManagerMismatch);
}

TEST(FabricManager, OfTheDriversVersionIsFine) {
  EXPECT_EQ(verdict_of(with_manager("550.90.07", 6)).state, NodeState::Ok);
  EXPECT_EQ(verdict_of(with_manager("550.90.7", 6)).state, NodeState::Ok) << "the same number, spelled otherwise";
}

TEST(FabricManager, OfTheSameBranchOnlyBreaksAnNvswitchMachine) {
  const Verdict verdict = verdict_of(with_manager("550.107.02", 6));
  const Finding* finding = mismatch_in(verdict);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(verdict.state, NodeState::Broken);
  EXPECT_EQ(finding->severity, Severity::Critical);
  EXPECT_TRUE(tells(*finding, "6 NVSwitches"));
  EXPECT_EQ(finding->reboot_helps, RebootHelps::No);
  EXPECT_NE(finding->consequences.front().find("802"), std::string::npos);
  EXPECT_EQ(finding->next_step,
            "ssh gpu-node-1 'sudo apt-get install --allow-downgrades "
            "'\\''nvidia-fabricmanager-550=550.90.07-*'\\'' && sudo systemctl restart nvidia-fabricmanager'");
}

TEST(FabricManager, OfTheModuleFileOnDiskIsRightAfterABoot) {
  Snapshot s = with_manager("550.107.02", 1);
  s.module_file =
      known(ModuleFile{"/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko", known(driver("550.107.02"))});
  const Verdict verdict = verdict_of(s);
  EXPECT_EQ(mismatch_in(verdict)->reboot_helps, RebootHelps::Yes);
}

TEST(FabricManager, WhereNoSwitchIsSeenIsAWarning) {
  const Verdict verdict = verdict_of(with_manager("550.107.02", 0));
  ASSERT_NE(mismatch_in(verdict), nullptr);
  EXPECT_EQ(verdict.state, NodeState::Degraded);
  EXPECT_EQ(mismatch_in(verdict)->severity, Severity::Warning);
  Snapshot s = with_manager("550.107.02", 0);
  s.pci_functions = denied<std::vector<PciFunction>>();
  const Verdict unread = verdict_of(s);
  EXPECT_TRUE(tells(*mismatch_in(unread), "whether an NVSwitch is here is not known"));
}

TEST(FabricManager, ThatSaidItRefusesIsEnough) {
  Snapshot s = healthy_node();
  s.kernel_log = known(std::vector{refusal("550.90.07", "550.107.02")}, "journal");
  const Verdict verdict = verdict_of(s);
  ASSERT_NE(mismatch_in(verdict), nullptr);
  EXPECT_EQ(verdict.state, NodeState::Broken);
  EXPECT_TRUE(tells(*mismatch_in(verdict), "550.107.02"));
}

TEST(FabricManager, ThatRefusedAnotherDriverOrIsRightNowIsThePast) {
  Snapshot s = healthy_node();
  s.kernel_log = known(std::vector{refusal("535.183.01", "550.107.02")});
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
  s = with_manager("550.90.07", 6);
  s.kernel_log = known(std::vector{refusal("550.90.07", "550.107.02")});
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
}

TEST(FabricManager, MissingBesideASwitchIsToldAndUnreadIsUnknown) {
  Snapshot s = with_manager("550.90.07", 6);
  s.fabric_manager = absent<DriverVersion>();
  const Verdict missing = verdict_of(s);
  EXPECT_EQ(missing.state, NodeState::Degraded);
  EXPECT_TRUE(tells(*mismatch_in(missing), "no fabric manager was found"));
  s.fabric_manager = denied<DriverVersion>();
  const Verdict unread = verdict_of(s);
  EXPECT_EQ(unread.state, NodeState::Unknown);
  EXPECT_NE(unread.why.find("fabric manager"), std::string::npos);
  EXPECT_TRUE(unread.findings.empty());
}

TEST(FabricManager, IsNotMissedWhereNoSwitchIsSeen) {
  Snapshot s = healthy_node();
  s.pci_functions = known(std::vector<PciFunction>{});
  s.fabric_manager = absent<DriverVersion>();
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
  s.fabric_manager = denied<DriverVersion>();
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
}

TEST(FabricManager, OfAContainerIsItsPodsToMend) {
  Snapshot s = with_manager("550.107.02", 6);
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = known(std::vector<Library>{library("550.90.07", DriverRoot::Container)});
  const Verdict verdict = verdict_of(s);
  ASSERT_NE(mismatch_in(verdict), nullptr);
  EXPECT_NE(mismatch_in(verdict)->next_step.find("grep nvidia-driver"), std::string::npos);
  EXPECT_EQ(mismatch_in(verdict)->reboot_helps, RebootHelps::Unknown);
}

}  // namespace
}  // namespace gpuskew::testing
