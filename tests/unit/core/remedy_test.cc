#include "core/rules/remedy.h"

#include <string>

#include <gtest/gtest.h>

#include "nodes.h"

namespace gpuskew::testing {
namespace {

constexpr std::string_view kNew = "5.15.0-122-generic";

struct Told {
  std::string cause;
  std::string next_step;
};

Told told(const Snapshot& snapshot, const NodeHistory& history = history_of_healthy()) {
  const Verdict verdict = judge(snapshot, history, JudgePolicy{}, nullptr, kLongAfterBoot, kLongAfterBoot);
  return verdict.findings.empty() ? Told{} : Told{verdict.findings.front().cause, verdict.findings.front().next_step};
}

Snapshot bumped_with_dkms(DkmsStage stage, std::string note) {
  Snapshot s = bumped_node();
  s.dkms = known(std::vector<DkmsEntry>{{"nvidia", "550.90.07", std::string(kNew), "x86_64", stage, std::move(note)}});
  return s;
}

Snapshot bumped_on(std::string id) {
  Snapshot s = bumped_node();
  s.os = known(OsIdentity{std::move(id), "1", "", "", "", ""});
  s.kernels = known(std::vector<InstalledKernel>{{kernel(kNew), true, false, absent<ModuleFile>()}});
  return s;
}

TEST(Remedy, TellsOfTheBuildThatFailedAndReadsItsLog) {
  const Told gone = told(bumped_with_dkms(
      DkmsStage::Failed, "/var/lib/dkms/nvidia/550.90.07/build/make.log: Compiler version check failed"));
  EXPECT_NE(gone.cause.find("no module file exists for it: dkms could not build nvidia/550.90.07"), std::string::npos)
      << gone.cause;
  EXPECT_NE(gone.cause.find("Compiler version check failed"), std::string::npos) << gone.cause;
  EXPECT_EQ(gone.next_step,
            "ssh gpu-node-1 tail -n 40 /var/lib/dkms/nvidia/550.90.07/build/make.log   # until it builds, boot the old "
            "kernel");
  const Told never = told(bumped_with_dkms(DkmsStage::Failed, "make.log"), NodeHistory{});
  EXPECT_NE(never.cause.find("dkms could not build nvidia/550.90.07 (make.log)"), std::string::npos) << never.cause;
}

TEST(Remedy, InstallsByForceWhatDkmsTakesForInstalled) {
  EXPECT_EQ(
      told(bumped_with_dkms(DkmsStage::Installed, "")).next_step,
      "ssh gpu-node-1 'sudo dkms install --force nvidia/550.90.07 -k 5.15.0-122-generic && sudo modprobe nvidia'");
}

TEST(Remedy, UsesTheToolsOfTheSystem) {
  EXPECT_NE(
      told(bumped_on("ubuntu")).next_step.find("sudo apt-get install linux-headers-5.15.0-122-generic && sudo dkms"),
      std::string::npos);
  for (const char* id : {"rhel", "amzn", "azurelinux"}) {
    EXPECT_NE(told(bumped_on(id)).next_step.find("sudo dnf install kernel-devel-5.15.0-122-generic && "),
              std::string::npos)
        << id;
  }
  for (const char* id : {"sles", "opensuse-tumbleweed"}) {
    EXPECT_NE(told(bumped_on(id)).next_step.find("sudo zypper install"), std::string::npos) << id;
  }
  EXPECT_NE(told(bumped_on("arch")).next_step.find("sudo pacman -S"), std::string::npos);
}

TEST(Remedy, SendsNobodyIntoAnImageThatBuildsNothing) {
  for (const char* id : {"talos", "bottlerocket", "cos", "flatcar"}) {
    const std::string step = told(bumped_on(id)).next_step;
    EXPECT_EQ(step.find("ssh"), std::string::npos) << step;
    EXPECT_NE(step.find(kNew), std::string::npos) << step;
  }
}

TEST(Remedy, MakesTheInitramfsWithTheSystemsOwnTool) {
  Snapshot s = healthy_node();
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0", "nouveau")});
  EXPECT_NE(told(s, NodeHistory{}).next_step.find("update-initramfs -u"), std::string::npos);
  s.os = known(OsIdentity{"fedora", "41", "", "", "", ""});
  EXPECT_NE(told(s, NodeHistory{}).next_step.find("dracut -f"), std::string::npos);
}

TEST(Remedy, LetsNoKernelsNameEndTheCommand) {
  Snapshot s = bumped_node();
  s.kernel = known(kernel("5.15;reboot'x"));
  const std::string step = told(s).next_step;
  EXPECT_EQ(step,
            R"(ssh gpu-node-1 'sudo dkms autoinstall -k '\''5.15;reboot'\''\'\'''\''x'\'' && sudo modprobe nvidia')");
}

TEST(Remedy, IsForThisVeryMachineWhereItsNameIsNotKnown) {
  Snapshot s = bumped_node();
  s.node.clear();
  EXPECT_EQ(told(s).next_step, "sudo dkms autoinstall -k 5.15.0-122-generic && sudo modprobe nvidia");
}

}  // namespace
}  // namespace gpuskew::testing
