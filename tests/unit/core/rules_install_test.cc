#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/rules/rules.h"
#include "tests/unit/core/verdicts.h"

namespace gpuskew::testing {
namespace {

using enum InstallKind;
using enum InstallPart;

InstallTrace trace(InstallKind kind, InstallPart part, std::string name, std::string version = "") {
  return {kind, part, std::move(name), std::move(version), "/var/lib/dpkg/status"};
}

const InstallTrace kRunfile = trace(Runfile, UserSpace, "/usr/bin/nvidia-uninstall", "550.90.07");
const InstallTrace kDebDriver = trace(Deb, UserSpace, "nvidia-driver-550", "550.90.07-0ubuntu1");
const InstallTrace kDebDkms = trace(Deb, KernelModule, "nvidia-dkms-550", "550.90.07-0ubuntu1");
const InstallTrace kDkmsTree = trace(Dkms, KernelModule, "/var/lib/dkms/nvidia", "550.90.07");
const InstallTrace kPrebuilt =
    trace(Prebuilt, KernelModule, "linux-modules-nvidia-550-5.15.0-119-generic", "5.15.0-119.129");

Snapshot with(std::vector<InstallTrace> traces) {
  Snapshot s = healthy_node();
  s.installs = known(std::move(traces));
  return s;
}

const Finding* conflict_in(const Verdict& verdict) {
  return find(verdict, FindingCode::InstallConflict);
}

TEST(InstallConflict, IsNoneAmongTheTracesOfOneInstaller) {
  const InstallTrace rpm_driver = trace(Rpm, UserSpace, "nvidia-driver", "550.90.07-1.el9");
  const InstallTrace kmod = trace(Kmod, KernelModule, "kmod-nvidia-open", "550.90.07-1.el9");
  const InstallTrace akmod = trace(Akmod, KernelModule, "akmod-nvidia", "550.90.07-1.fc40");
  const InstallTrace akmods_kmod = trace(Kmod, KernelModule, "kmod-nvidia-6.8.5-301.fc40.x86_64", "550.90.07-1.fc40");
  const std::vector<std::vector<InstallTrace>> fine = {
      {},
      {kDebDriver, kDebDkms, kDkmsTree},
      {kDebDriver, kPrebuilt},
      {rpm_driver, kmod},
      {rpm_driver, trace(Rpm, KernelModule, "kmod-nvidia-latest-dkms", "550.90.07-1.el9"), kDkmsTree},
      {rpm_driver, akmod, akmods_kmod},
      {kRunfile, trace(Runfile, KernelModule, "/usr/bin/nvidia-uninstall", "550.90.07"), kDkmsTree},
      {kDebDriver, trace(Deb, FabricManager, "nvidia-fabricmanager-550", "550.90.07-1")},
      // The name leads to another branch: an empty package.
      {kDebDriver, trace(Deb, UserSpace, "nvidia-driver-535", "550.90.07-0ubuntu1")},
      // Modules of an older kernel and an older branch stay.
      {kDebDriver, kPrebuilt,
       trace(Prebuilt, KernelModule, "linux-modules-nvidia-535-5.15.0-91-generic", "5.15.0-91.101")},
  };
  for (const auto& traces : fine) {
    const Verdict verdict = verdict_of(with(traces));
    EXPECT_EQ(verdict.state, NodeState::Ok) << verdict.why;
  }
}

TEST(InstallConflict, IsARunfileBesidePackages) {
  const Verdict verdict = verdict_of(with({kRunfile, kDebDriver, kDebDkms}));
  const Finding* finding = conflict_in(verdict);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(verdict.state, NodeState::Degraded);
  EXPECT_EQ(finding->severity, Severity::Warning);
  EXPECT_EQ(finding->reboot_helps, RebootHelps::No);
  EXPECT_TRUE(tells(*finding, "/usr/bin/nvidia-uninstall 550.90.07"));
  EXPECT_TRUE(tells(*finding, "nvidia-driver-550 550.90.07-0ubuntu1"));
  EXPECT_EQ(finding->next_step,
            "kubectl drain gpu-node-1 --ignore-daemonsets && ssh -t gpu-node-1 'sudo nvidia-uninstall && sudo apt-get "
            "install --reinstall nvidia-driver-550 nvidia-dkms-550'");
  EXPECT_NE(conflict_in(verdict_of(with({kRunfile, kPrebuilt}))), nullptr);
  EXPECT_NE(conflict_in(verdict_of(with({kRunfile, trace(Deb, UserSpace, "libcuda1", "535.183.01-1")}))), nullptr);
}

TEST(InstallConflict, IsUnknowableWhereTheTracesAre) {
  Snapshot s = healthy_node();
  s.installs = denied<std::vector<InstallTrace>>();
  EXPECT_EQ(conflict_in(verdict_of(s)), nullptr);
}

TEST(InstallConflict, OfTwoBranchesIsToldByVersions) {
  const Finding* none =
      conflict_in(verdict_of(with({kDebDriver, trace(Deb, UserSpace, "libnvidia-compute-550", "550.54.15-0ubuntu1")})));
  EXPECT_EQ(none, nullptr) << "a half-done upgrade of one branch";
  const Verdict verdict =
      verdict_of(with({kDebDriver, trace(Deb, UserSpace, "nvidia-tesla-470-driver", "470.256.02-2")}));
  const Finding* finding = conflict_in(verdict);
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(tells(*finding, "nvidia-tesla-470-driver 470.256.02-2"));
}

TEST(InstallConflict, OfAHostsOtherDriverIsToldOnlyWhileAContainerIsMounted) {
  Snapshot s = with({trace(Deb, UserSpace, "libnvidia-compute-535", "535.216.01-0ubuntu1")});
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = known(std::vector<Library>{library("550.90.07", DriverRoot::Container), library("535.216.01")});
  const Verdict verdict = verdict_of(s);
  const Finding* finding = conflict_in(verdict);
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(tells(*finding, "/run/nvidia/driver loaded 550.90.07"));
  EXPECT_TRUE(tells(*finding, "libnvidia-compute-535 535.216.01-0ubuntu1"));
  EXPECT_TRUE(tells(*finding, "/usr/lib/libnvidia-ml.so.535.216.01"));
  EXPECT_EQ(finding->next_step, "ssh -t gpu-node-1 sudo apt-get purge libnvidia-compute-535");
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", false});
  s.libraries = known(std::vector<Library>{library("550.90.07")});
  EXPECT_EQ(conflict_in(verdict_of(s)), nullptr);
}

TEST(InstallConflict, NamesTheLibraryWhereNoPackageBroughtIt) {
  Snapshot s = with({});
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = known(std::vector<Library>{library("550.90.07", DriverRoot::Container), library("535.216.01")});
  const Verdict verdict = verdict_of(s);
  ASSERT_NE(conflict_in(verdict), nullptr);
  EXPECT_NE(conflict_in(verdict)->next_step.find("dpkg -S /usr/lib/libnvidia-ml.so.535.216.01"), std::string::npos);
  s.installs = known(std::vector{trace(Runfile, UserSpace, "/usr/bin/nvidia-uninstall", "535.216.01")});
  EXPECT_EQ(conflict_in(verdict_of(s))->next_step, "ssh -t gpu-node-1 sudo nvidia-uninstall");
}

TEST(InstallConflict, UsesThePackageManagerOfTheSystem) {
  Snapshot s = with({kRunfile, trace(Rpm, FabricManager, "nvidia-fabric-manager", "550.90.07-1")});
  const Verdict rhel = verdict_of(s);
  EXPECT_EQ(conflict_in(rhel)->next_step, "ssh -t gpu-node-1 sudo dnf versionlock add nvidia-fabric-manager");
  s.os = known(OsIdentity{"sles", "15.6", "SLES", "", "", ""});
  const Verdict sles = verdict_of(s);
  EXPECT_EQ(conflict_in(sles)->next_step, "ssh -t gpu-node-1 sudo zypper addlock nvidia-fabric-manager");
}

TEST(InstallConflict, TellsEveryConflictInOneFinding) {
  const Verdict verdict =
      verdict_of(with({kRunfile, kDebDriver, trace(Deb, FabricManager, "nvidia-fabricmanager-550", "550.90.07-1")}));
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_TRUE(tells(verdict.findings.front(), "both installed a driver; the driver comes from NVIDIA's runfile"));
  EXPECT_EQ(verdict.findings.front().consequences.size(), 2U);
}

TEST(InstallConflict, LetsNoNameEndTheCommand) {
  const Verdict verdict = verdict_of(with({kRunfile, trace(Deb, FabricManager, "x'; reboot; '", "550.90.07-1")}));
  const std::string& step = conflict_in(verdict)->next_step;
  // What the local shell passes on, and what the remote one then takes for a name.
  EXPECT_EQ(step, "ssh -t gpu-node-1 " + rules::shell_word("sudo apt-mark hold " + rules::shell_word("x'; reboot; '")));
}

}  // namespace
}  // namespace gpuskew::testing
