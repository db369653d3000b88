// Cases of tests/fixtures/cases about how the driver got there: from the files on a node to the verdict.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "core/judge.h"
#include "tests/unit/agent/rpm_database.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using enum InstallKind;
using enum InstallPart;

std::string case_file(const std::string& name) {
  std::ifstream file(std::filesystem::path(GPUSKEW_FIXTURES) / "cases" / name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string installed(const std::string& package, const std::string& version) {
  return "Package: " + package + "\nStatus: install ok installed\nVersion: " + version + "\n\n";
}

// A node with one GPU, and a driver of this version loaded; "" for none.
void make_node(const ScratchTree& tree, const std::string& kernel, const std::string& driver) {
  tree.write("/proc/sys/kernel/osrelease", kernel + "\n");
  tree.write("/etc/os-release", "ID=ubuntu\nVERSION_ID=\"22.04\"\n");
  tree.write("/proc/modules", "");
  tree.directory("/sys/module/kernel");
  tree.directory("/run/systemd");
  tree.directory("/usr/lib");
  tree.directory("/lib/modules/" + kernel);
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", driver.empty() ? "" : "nvidia");
  if (!driver.empty()) {
    tree.write("/sys/module/nvidia/version", driver + "\n");
  }
}

void make_library(const ScratchTree& tree, const std::string& root, const std::string& version) {
  tree.write(root + "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so." + version, "library");
  tree.link(root + "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "libnvidia-ml.so." + version);
}

Snapshot snapshot_of(const ScratchTree& tree) {
  return take_snapshot(tree.root(), "gpu-1", "0.1.0", from_unix_ms(1'796'054'400'000));
}

Verdict verdict_of(const Snapshot& snapshot) {
  return judge(snapshot, {}, {}, nullptr, snapshot.taken_at, snapshot.taken_at);
}

const Finding* find(const Verdict& verdict, FindingCode code) {
  for (const Finding& finding : verdict.findings) {
    if (finding.code == code) {
      return &finding;
    }
  }
  return nullptr;
}

bool has(const Snapshot& snapshot, InstallKind kind, InstallPart part) {
  for (const InstallTrace& trace : snapshot.installs.value()) {
    if (trace.kind == kind && trace.part == part) {
      return true;
    }
  }
  return false;
}

bool has_kind(const Snapshot& snapshot, InstallKind kind) {
  return has(snapshot, kind, KernelModule) || has(snapshot, kind, UserSpace) || has(snapshot, kind, FabricManager);
}

// `rpm -qa` lines: name-version, and a release where the line has one.
std::vector<StubPackage> rpm_packages(const std::string& listing) {
  std::vector<StubPackage> packages;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    std::size_t version = line.find('-');
    while (line[version + 1] < '0' || line[version + 1] > '9') {
      version = line.find('-', version + 1);
    }
    const std::size_t release = line.find('-', version + 1);
    packages.push_back({line.substr(0, version), line.substr(version + 1, release - version - 1),
                        release == std::string::npos ? "1" : line.substr(release + 1)});
  }
  return packages;
}

TEST(Case124RunPlusDebFabricmanager, IsMixedOwnershipThatAnUpgradeDesynchronises) {
  const ScratchTree tree;
  make_node(tree, "5.15.0-119-generic", "460.73.01");
  std::istringstream files(case_file("124-run-plus-deb-fabricmanager/files.txt"));
  for (std::string file; std::getline(files, file);) {
    tree.write(file, "");
  }
  std::istringstream dpkg(case_file("124-run-plus-deb-fabricmanager/dpkg.txt"));
  std::string state;
  std::string package;
  std::string version;
  dpkg >> state >> package >> version;
  tree.write("/var/lib/dpkg/status", installed(package, version));
  make_library(tree, "", "460.73.01");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_TRUE(has(snapshot, Runfile, KernelModule));
  EXPECT_TRUE(has(snapshot, Deb, FabricManager));
  EXPECT_FALSE(has(snapshot, Deb, UserSpace)) << "not every package of NVIDIA's is the driver";
  EXPECT_EQ(snapshot.fabric_manager->text(), "460.73.01");
  const Verdict verdict = verdict_of(snapshot);
  const Finding* conflict = find(verdict, FindingCode::InstallConflict);
  ASSERT_NE(conflict, nullptr);
  EXPECT_EQ(conflict->severity, Severity::Warning);
  EXPECT_NE(conflict->cause.find("`apt upgrade` will desynchronise them"), std::string::npos);
}

TEST(Case126UbuntuPrebuiltNotDkms, IsAPackageOfPrebuiltModules) {
  const ScratchTree tree;
  make_node(tree, "6.17.0-1014-nvidia", "580.142");
  tree.write("/lib/modules/6.17.0-1014-nvidia/kernel/nvidia-580-open/nvidia.ko",
             elf_module(modinfo_with_version("580.142")));
  tree.write("/var/lib/dpkg/status", installed("linux-modules-nvidia-580-open-6.17.0-1014-nvidia", "6.17.0-1014.14"));
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_TRUE(has(snapshot, Prebuilt, KernelModule));
  EXPECT_FALSE(has_kind(snapshot, Dkms));
  EXPECT_FALSE(has_kind(snapshot, Runfile)) << "no dkms tree is no runfile";
  EXPECT_EQ(find(verdict_of(snapshot), FindingCode::InstallConflict), nullptr);
}

TEST(Case128SlesRpmPreinstalled, IsNoConflict) {
  const ScratchTree tree;
  make_node(tree, "6.4.0-150700.51-default", "580.95.05");
  tree.write("/etc/os-release", "ID=\"sles\"\nVERSION_ID=\"15.7\"\n");
  tree.directory("/usr/lib/sysimage/rpm");
  make_rpm_database(tree.path() / "usr/lib/sysimage/rpm",
                    rpm_packages(case_file("128-sles-rpm-preinstalled/rpm-qa.txt")));
  tree.write("/usr/lib64/libnvidia-ml.so.580.95.05", "library");
  tree.link("/usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.580.95.05");
  tree.write("/run/nvidia/validations/driver-ready", "IS_HOST_DRIVER=true\n");  // its driver pod found the host's
  const Snapshot snapshot = snapshot_of(tree);
  ASSERT_TRUE(snapshot.installs.is_known()) << snapshot.installs.why().what;
  EXPECT_TRUE(has(snapshot, Kmod, KernelModule)) << "the signed kmp";
  EXPECT_TRUE(has(snapshot, Rpm, UserSpace));
  EXPECT_TRUE(snapshot.validations->front().host_driver);
  const Verdict verdict = verdict_of(snapshot);
  EXPECT_EQ(verdict.state, NodeState::Ok) << verdict.why;
}

TEST(Case129OperatorContainerRoot, IsHealthyWithoutAnyDriverOfTheHost) {
  const ScratchTree tree;
  const std::string version = case_file("129-operator-container-root/sys_module_nvidia_version");
  make_node(tree, "5.15.0-119-generic", version.substr(0, version.find('\n')));
  tree.write("/var/lib/dpkg/status", installed("bash", "5"));
  std::istringstream files(case_file("129-operator-container-root/files.txt"));
  for (std::string file; std::getline(files, file);) {
    tree.write(file, "");
  }
  Snapshot snapshot = snapshot_of(tree);
  EXPECT_TRUE(has(snapshot, Container, KernelModule));
  EXPECT_TRUE(has(snapshot, Container, UserSpace));
  EXPECT_EQ(verdict_of(snapshot).state, NodeState::Ok) << verdict_of(snapshot).why;

  // The container is gone, the module stays.
  tree.remove("/run/nvidia/driver/usr");
  snapshot = snapshot_of(tree);
  const Verdict verdict = verdict_of(snapshot);
  EXPECT_EQ(verdict.state, NodeState::Degraded);
  EXPECT_NE(verdict.why.find("the driver container that loaded it is gone"), std::string::npos) << verdict.why;
}

TEST(Case133FlatcarMetadata, IsAnImageWhoseEtcOverrides) {
  std::istringstream lines(case_file("133-flatcar-metadata-and-bottlerocket-paths/flatcar.txt"));
  const ScratchTree tree;
  make_node(tree, "5.15.106-flatcar", "");
  tree.write("/etc/os-release", "ID=flatcar\nVERSION_ID=3510.2.1\n");
  for (std::string line; std::getline(lines, line) && line.starts_with("/");) {
    const std::size_t colon = line.find(": ");
    tree.write(line.substr(0, colon), line.substr(colon + 2, line.find(' ', colon + 2) - colon - 2) + "\n");
  }
  const Snapshot snapshot = snapshot_of(tree);
  ASSERT_EQ(snapshot.installs->size(), 1U);
  EXPECT_EQ(snapshot.installs->front().kind, OsImage);
  EXPECT_EQ(snapshot.installs->front().name, "/etc/flatcar/nvidia-metadata");
  EXPECT_EQ(snapshot.installs->front().version, "525.105.17");
}

TEST(Case133BottlerocketPaths, AreAnImageWithoutDkmsOrPackages) {
  const ScratchTree tree;
  make_node(tree, "6.1.19", "535.54.03");
  tree.write("/etc/os-release", "ID=bottlerocket\nVERSION_ID=1.14.1\n");
  tree.write("/usr/libexec/nvidia/tesla/bin/nvidia-smi", "");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_TRUE(has(snapshot, OsImage, KernelModule));
  EXPECT_EQ(snapshot.installs->size(), 2U);
  EXPECT_TRUE(verdict_of(snapshot).findings.empty());
}

TEST(Case134AkmodsAndDkmsBoth, IsTwoBuildersForOneModule) {
  const ScratchTree tree;
  make_node(tree, "5.3.7-301.fc31.x86_64", "440.59");
  tree.write("/etc/os-release", "ID=fedora\nVERSION_ID=31\n");
  tree.directory("/var/lib/rpm");
  make_rpm_database(tree.path() / "var/lib/rpm", rpm_packages(case_file("134-akmods-and-dkms-both/rpm-qa.txt")));
  const Snapshot snapshot = snapshot_of(tree);
  ASSERT_TRUE(snapshot.installs.is_known()) << snapshot.installs.why().what;
  EXPECT_TRUE(has(snapshot, Akmod, KernelModule));
  const Verdict verdict = verdict_of(snapshot);
  const Finding* conflict = find(verdict, FindingCode::InstallConflict);
  ASSERT_NE(conflict, nullptr);
  EXPECT_NE(conflict->cause.find("akmod-nvidia 440.59-1.fc31"), std::string::npos);
  EXPECT_NE(conflict->cause.find("dkms-nvidia 440.59-1.fc31"), std::string::npos);
}

TEST(Case097MismatchInsideOperatorStack, NamesBothStacks) {
  const ScratchTree tree;
  make_node(tree, "5.15.0-119-generic", "535.183.01");
  make_library(tree, "/run/nvidia/driver", "535.183.01");
  make_library(tree, "", "535.216.01");
  tree.write("/var/lib/dpkg/status", installed("nvidia-headless-535", "535.216.01-0ubuntu0.22.04.1"));
  tree.write("/var/log/apt/history.log",
             "\nStart-Date: 2024-11-20  06:20:11\nCommandline: /usr/bin/unattended-upgrade\nUpgrade: "
             "nvidia-headless-535:amd64 (535.183.01-0ubuntu0.22.04.1, 535.216.01-0ubuntu0.22.04.1)\n");
  const Verdict verdict = verdict_of(snapshot_of(tree));
  EXPECT_EQ(verdict.state, NodeState::Degraded) << "equal in the container is no all-clear";
  const Finding* conflict = find(verdict, FindingCode::InstallConflict);
  ASSERT_NE(conflict, nullptr);
  EXPECT_EQ(conflict->cause,
            "two driver stacks: the driver container at /run/nvidia/driver loaded 535.183.01, the host has its own: "
            "nvidia-headless-535 535.216.01-0ubuntu0.22.04.1");
  EXPECT_NE(conflict->evidence.front().text.find("/usr/bin/unattended-upgrade, 2024-11-20"), std::string::npos);
  EXPECT_EQ(conflict->next_step, "ssh -t gpu-1 sudo apt-get purge nvidia-headless-535");
}

TEST(Case094MismatchUnattendedUpgrade, NamesWhoMovedTheLibraryAndWhen) {
  const ScratchTree tree;
  make_node(tree, "5.4.0-72-generic", "460.56");
  make_library(tree, "", "460.73.01");
  tree.write("/var/lib/dpkg/status", installed("libnvidia-compute-460", "460.73.01-0ubuntu0.20.04.1"));
  tree.write("/var/log/apt/history.log",
             "\n" + case_file("094-mismatch-unattended-upgrade-running-jobs/apt_history.log"));
  const Verdict verdict = verdict_of(snapshot_of(tree));
  const Finding* mismatch = find(verdict, FindingCode::DriverLibraryMismatch);
  ASSERT_NE(mismatch, nullptr);
  EXPECT_EQ(mismatch->cause, "the loaded nvidia module is 460.56, but libnvidia-ml is 460.73.01");
  EXPECT_NE(mismatch->evidence[2].text.find("it came by /usr/bin/unattended-upgrade, 2021-04-24 06:50:54"),
            std::string::npos)
      << mismatch->evidence[2].text;
  EXPECT_EQ(mismatch->consequences.front(), "programs that already use the GPU go on");
}

TEST(Case131HostDriverDetected, IsADriverOfTheHostThatHoldsTheGpu) {
  const ScratchTree tree;
  make_node(tree, "6.8.0-52-generic", "580.82.07");
  tree.write("/var/lib/dpkg/status", installed("nvidia-driver-580", "580.82.07-0ubuntu1"));
  make_library(tree, "", "580.82.07");
  tree.write("/run/nvidia/validations/driver-ready", "IS_HOST_DRIVER=true\n");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_EQ(*snapshot.gpus->front().driver, "nvidia");
  EXPECT_TRUE(has(snapshot, Deb, UserSpace));
  EXPECT_TRUE(snapshot.validations->front().host_driver);
}

TEST(Case121TalosModulesNotLoaded, IsAnExtensionWithoutAModule) {
  const ScratchTree tree;
  make_node(tree, "6.6.43-talos", "");
  tree.write("/etc/os-release", "ID=talos\nVERSION_ID=v1.7.6\n");
  tree.write("/proc/modules", case_file("121-talos-modules-not-loaded/proc_modules"));
  tree.write("/etc/extensions.yaml",
             "layers:\n  - metadata:\n      name: nonfree-kmod-nvidia\n      version: 535.129.03-v1.7.6\n");
  const Snapshot snapshot = snapshot_of(tree);
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
  ASSERT_EQ(snapshot.installs->size(), 1U);
  EXPECT_EQ(snapshot.installs->front().kind, OsImage);
  const Verdict verdict = verdict_of(snapshot);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings.front().code, FindingCode::DriverNotLoaded);
}

TEST(Case027AmazonLinux2023, ReadsItsPackages) {
  const ScratchTree tree;
  make_node(tree, "6.1.66-91.160.amzn2023.x86_64", "570.86.15");
  tree.write("/etc/os-release", case_file("027-amazon-linux-2023/os-release"));
  tree.directory("/usr/lib/sysimage/rpm");
  make_rpm_database(tree.path() / "usr/lib/sysimage/rpm", {{"kmod-nvidia-open-dkms", "570.86.15", "1.amzn2023"},
                                                           {"nvidia-fabric-manager", "570.86.15", "1"}});
  const Snapshot snapshot = snapshot_of(tree);
  ASSERT_TRUE(snapshot.installs.is_known()) << snapshot.installs.why().what;
  EXPECT_TRUE(has(snapshot, Rpm, KernelModule));
  EXPECT_EQ(snapshot.fabric_manager->text(), "570.86.15");
}

TEST(Case050TumbleweedDashInId, ReadsItsPackagesAndNamesItsPackageManager) {
  const ScratchTree tree;
  make_node(tree, "6.5.2-4-default", "580.95.05");
  tree.write("/etc/os-release", case_file("050-tumbleweed-dash-in-id/os-release"));
  tree.write("/usr/lib/sysimage/rpm/Packages.db", case_file("../rpm/suse/root/usr/lib/sysimage/rpm/Packages.db"));
  tree.write("/usr/bin/nvidia-uninstall", "");
  const Verdict verdict = verdict_of(snapshot_of(tree));
  const Finding* conflict = find(verdict, FindingCode::InstallConflict);
  ASSERT_NE(conflict, nullptr);
  EXPECT_NE(conflict->next_step.find("zypper install --force"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
