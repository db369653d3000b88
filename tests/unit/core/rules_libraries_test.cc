#include <string>

#include <gtest/gtest.h>

#include "tests/unit/core/verdicts.h"

namespace gpuskew::testing {
namespace {

const Finding* mismatch_in(const Verdict& verdict) {
  return find(verdict, FindingCode::DriverLibraryMismatch);
}

KernelLogEvent loaded_at(Time at) {
  KernelLogEvent event;
  event.kind = KernelLogKind::DriverLoaded;
  event.last_at = at;
  return event;
}

TEST(LibraryMismatch, TellsWhoBroughtTheLibrary) {
  Snapshot s = healthy_node();
  s.libraries = known(std::vector<Library>{library("550.107.02")});
  s.module_file = known(ModuleFile{"/lib/modules/x/updates/dkms/nvidia.ko", known(driver("550.107.02"))});
  s.installs = known(std::vector<InstallTrace>{
      {InstallKind::Deb, InstallPart::UserSpace, "libnvidia-compute-550", "550.107.02-0ubuntu1", "/var/lib/dpkg/status",
       "/usr/bin/unattended-upgrade, 2024-09-05 06:12:01 by the node's clock"}});
  const Verdict verdict = verdict_of(s);
  const Finding* finding = mismatch_in(verdict);
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(tells(*finding, "it came by /usr/bin/unattended-upgrade, 2024-09-05 06:12:01"));
  EXPECT_EQ(finding->next_step,
            "kubectl drain gpu-node-1 --ignore-daemonsets && ssh gpu-node-1 'sudo apt-mark hold libnvidia-compute-550; "
            "sudo reboot'");
}

TEST(LibraryMismatch, IsToldWithoutAnyPackageToo) {
  Snapshot s = healthy_node();
  s.libraries = known(std::vector<Library>{library("550.107.02")});
  const Verdict verdict = verdict_of(s);
  ASSERT_NE(mismatch_in(verdict), nullptr);
  EXPECT_EQ(mismatch_in(verdict)->next_step,
            "ssh gpu-node-1 'sudo dkms autoinstall -k 5.15.0-119-generic && modinfo -F version nvidia'");
}

TEST(LibraryMismatch, OfTheHostBesideAContainerIsProvenByAFreshMarkOnly) {
  Snapshot s = healthy_node();
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = known(std::vector<Library>{library("535.216.01"), library("550.90.07", DriverRoot::Container)});
  s.kernel_log = known(std::vector{loaded_at(kBoot + std::chrono::minutes(2))});
  s.validations = known(std::vector<ValidationMark>{{"driver-ready", kBoot + std::chrono::minutes(3), true}});
  const Verdict fresh = verdict_of(s);
  EXPECT_EQ(fresh.state, NodeState::Broken);
  ASSERT_NE(mismatch_in(fresh), nullptr);
  EXPECT_TRUE(tells(*mismatch_in(fresh), "from the driver container at /run/nvidia/driver"));
  EXPECT_TRUE(tells(*mismatch_in(fresh), "the host's libnvidia-ml 535.216.01"));
  s.validations = known(std::vector<ValidationMark>{{"driver-ready", kBoot + std::chrono::minutes(1), true}});
  EXPECT_EQ(verdict_of(s).state, NodeState::Degraded) << "it speaks of the load before: two stacks, and no more";
  s.validations = known(std::vector<ValidationMark>{{"driver-ready", kBoot + std::chrono::minutes(3), false}});
  EXPECT_EQ(mismatch_in(verdict_of(s)), nullptr);
}

Snapshot orphaned_node() {
  Snapshot s = healthy_node();
  s.libraries = absent<std::vector<Library>>();
  s.module_file = absent<ModuleFile>();
  s.driver_container = absent<DriverContainer>("/run/nvidia/driver");
  s.installs = known(std::vector<InstallTrace>{});
  s.validations = known(std::vector<ValidationMark>{{"toolkit-ready", kBoot}});
  return s;
}

TEST(LibraryMismatch, OfAModuleWhoseContainerIsGoneIsAWarning) {
  const Verdict verdict = verdict_of(orphaned_node());
  EXPECT_EQ(verdict.state, NodeState::Degraded);
  ASSERT_NE(mismatch_in(verdict), nullptr);
  EXPECT_EQ(mismatch_in(verdict)->severity, Severity::Warning);
  EXPECT_TRUE(tells(*mismatch_in(verdict), "the driver container that loaded it is gone"));
}

TEST(LibraryMismatch, IsNoOrphanWhereAnythingElseMayHaveLoadedIt) {
  Snapshot host = orphaned_node();
  host.module_file = healthy_node().module_file;
  Snapshot packaged = orphaned_node();
  packaged.installs =
      known(std::vector<InstallTrace>{{InstallKind::OsImage, InstallPart::KernelModule, "x", "", "test"}});
  Snapshot never = orphaned_node();
  never.validations = absent<std::vector<ValidationMark>>();
  Snapshot preinstalled = orphaned_node();
  preinstalled.validations = known(std::vector<ValidationMark>{{"driver-ready", kBoot, true}});
  Snapshot at_work = orphaned_node();
  at_work.driver_container = known(DriverContainer{"/run/nvidia/driver", false});
  Snapshot unread = orphaned_node();
  unread.installs = denied<std::vector<InstallTrace>>();
  for (const Snapshot& s : {host, packaged, never, preinstalled, at_work, unread}) {
    EXPECT_EQ(mismatch_in(verdict_of(s)), nullptr);
  }
}

TEST(Platform, OfWindowsIsNotJudgedAndNoDriverIsMissing) {
  Snapshot s = bumped_node();
  s.wsl = known<std::string>("5.15.153.1-microsoft-standard-WSL2");
  const Verdict verdict = verdict_of(s, history_of_healthy());
  EXPECT_EQ(verdict.state, NodeState::NotJudged);
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_NE(verdict.why.find("WSL2 (5.15.153.1-microsoft-standard-WSL2)"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew::testing
