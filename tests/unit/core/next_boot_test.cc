#include <string>

#include <gtest/gtest.h>

#include "tests/unit/core/nodes.h"

namespace gpuskew::testing {
namespace {

constexpr const char* kRunning = "5.15.0-119-generic";
constexpr const char* kNext = "5.15.0-122-generic";

Fact<ModuleFile> module_file(std::string_view release, std::string_view version = "550.90.07",
                             std::string_view built_for = "", std::string_view folder = "updates/dkms") {
  ModuleFile file;
  file.path = "/lib/modules/" + std::string(release) + "/" + std::string(folder) + "/nvidia.ko";
  file.version = known(driver(version));
  file.built_for = known(kernel(built_for.empty() ? release : built_for));
  file.flavour = known(ModuleFlavour::Proprietary);
  return known(std::move(file));
}

InstalledKernel installed(std::string_view release, Fact<ModuleFile> file, bool has_headers = true) {
  return InstalledKernel{kernel(release), true, has_headers, std::move(file)};
}

/// healthy_node with 5.15.0-122-generic as the next kernel; both have a module.
Snapshot bumping_node() {
  Snapshot s = healthy_node();
  s.module_file = module_file(kRunning);
  s.kernels = known(
      std::vector<InstalledKernel>{installed(kRunning, module_file(kRunning)), installed(kNext, module_file(kNext))});
  s.next_kernel = known(NextKernel{kernel(kNext), "default of /boot/grub/grub.cfg"}, "/boot/grub/grub.cfg");
  s.dkms = known(std::vector<DkmsEntry>{});
  s.boot_builders = known(std::vector<BootBuilder>{});
  s.installs = known(std::vector<InstallTrace>{});
  s.reboot_required = absent<RebootRequired>();
  return s;
}

InstalledKernel& next_of(std::vector<InstalledKernel>& kernels) {
  return kernels.back();
}

Snapshot with_next_module(Fact<ModuleFile> file, bool has_headers = true) {
  Snapshot s = bumping_node();
  std::vector<InstalledKernel> kernels = *s.kernels;
  next_of(kernels).module_file = std::move(file);
  next_of(kernels).has_headers = has_headers;
  s.kernels = known(std::move(kernels));
  return s;
}

Snapshot without_next_module(bool has_headers = true) {
  return with_next_module(absent<ModuleFile>("/lib/modules/5.15.0-122-generic"), has_headers);
}

Verdict verdict(const Snapshot& s, const Matrix* matrix = nullptr, const NodeHistory& history = NodeHistory()) {
  return judge(s, history, JudgePolicy(), matrix, kLongAfterBoot, kLongAfterBoot);
}

NextBoot next_boot(const Snapshot& s) {
  return verdict(s).next_boot;
}

const Finding* finding(const Verdict& made, FindingCode code) {
  for (const Finding& each : made.findings) {
    if (each.code == code) {
      return &each;
    }
  }
  return nullptr;
}

TEST(NextBoot, KeepsTheGpuWhereItsKernelHasItsModule) {
  const Verdict made = verdict(bumping_node());
  EXPECT_EQ(made.state, NodeState::Ok);
  EXPECT_EQ(made.next_boot.gpu, NextBootGpu::Keeps);
  EXPECT_EQ(made.next_boot.kernel->text(), kNext);
  EXPECT_EQ(made.next_boot.why,
            "its module /lib/modules/5.15.0-122-generic/updates/dkms/nvidia.ko (550.90.07) is there");
}

TEST(NextBoot, LosesTheGpuWithoutAModuleAndSaysSo) {
  const Verdict made = verdict(without_next_module());
  EXPECT_EQ(made.state, NodeState::Degraded);
  EXPECT_EQ(made.next_boot.gpu, NextBootGpu::Loses);
  const Finding* lost = finding(made, FindingCode::ModuleMissingNextKernel);
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->severity, Severity::Warning);
  EXPECT_EQ(lost->cause,
            "the next boot into 5.15.0-122-generic loses the GPU: no nvidia module file exists for 5.15.0-122-generic");
  EXPECT_EQ(lost->next_step, "ssh gpu-node-1 sudo dkms autoinstall -k 5.15.0-122-generic");
  EXPECT_EQ(lost->reboot_helps, RebootHelps::No);
  EXPECT_EQ(lost->evidence.at(0).text, "next kernel: 5.15.0-122-generic (default of /boot/grub/grub.cfg)");
  EXPECT_EQ(lost->affected_gpus.size(), 2U);
}

TEST(NextBoot, AsksForHeadersWhereTheyAreMissing) {
  const Verdict made = verdict(without_next_module(false));
  EXPECT_EQ(finding(made, FindingCode::ModuleMissingNextKernel)->next_step,
            "ssh gpu-node-1 'sudo apt-get install linux-headers-5.15.0-122-generic && sudo dkms autoinstall -k "
            "5.15.0-122-generic'");
}

TEST(NextBoot, AsksForThePrebuiltPackageWhereTheOtherKernelHasOne) {
  Snapshot s = without_next_module();
  std::vector<InstalledKernel> kernels = *s.kernels;
  kernels.front().module_file = module_file(kRunning, "550.90.07", "", "kernel/nvidia-550srv-open");
  s.kernels = known(std::move(kernels));
  EXPECT_EQ(finding(verdict(s), FindingCode::ModuleMissingNextKernel)->next_step,
            "ssh gpu-node-1 sudo apt-get install linux-modules-nvidia-550-server-open-5.15.0-122-generic");
}

TEST(NextBoot, NamesTheLogOfAFailedBuild) {
  Snapshot s = without_next_module();
  const std::string log = "/var/lib/dkms/nvidia/550.90.07/build/make.log";
  s.dkms = known(std::vector<DkmsEntry>{
      {"nvidia", "550.90.07", kNext, "x86_64", DkmsStage::Failed, log + ": nv.c:1: error: no member"}});
  s.boot_builders = known(std::vector<BootBuilder>{{"dkms", "x"}});  // it would fail again
  const Verdict made = verdict(s);
  EXPECT_EQ(made.next_boot.why, "no nvidia module file exists for 5.15.0-122-generic: dkms could not build it (" + log +
                                    ": nv.c:1: error: no member)");
  EXPECT_EQ(finding(made, FindingCode::ModuleMissingNextKernel)->next_step,
            "ssh gpu-node-1 tail -n 40 " + log + "   # until it builds, boot the old kernel");
}

TEST(NextBoot, SaysThatABrokenVersionStopsDkms) {
  Snapshot s = without_next_module();
  s.dkms = known(std::vector<DkmsEntry>{{"nvidia", "390.48", "", "", DkmsStage::Broken, "dkms.conf does not exist"}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Loses);
  EXPECT_NE(next_boot(s).why.find("dkms can build none: dkms.conf does not exist"), std::string::npos);
}

TEST(NextBoot, CanNotTellOfABuildThatIsNotDone) {
  Snapshot s = without_next_module();
  s.dkms = known(std::vector<DkmsEntry>{{"nvidia", "550.90.07", kNext, "x86_64", DkmsStage::Broken, "no end"}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
}

TEST(NextBoot, CanNotTellWhatAServiceWillBuildAtBoot) {
  Snapshot s = without_next_module();
  s.dkms = known(std::vector<DkmsEntry>{{"nvidia", "550.90.07", kRunning, "x86_64", DkmsStage::Installed, ""}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Loses);
  s.boot_builders = known(std::vector<BootBuilder>{{"dkms", "x"}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
  EXPECT_EQ(next_boot(s).why,
            "no nvidia module file exists for 5.15.0-122-generic yet; dkms builds it at boot, if the build works");
  s.boot_builders = denied<std::vector<BootBuilder>>();
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);

  Snapshot no_headers = without_next_module(false);
  no_headers.dkms = s.dkms;
  no_headers.boot_builders = known(std::vector<BootBuilder>{{"dkms", "x"}});
  EXPECT_EQ(next_boot(no_headers).gpu, NextBootGpu::Loses);
}

TEST(NextBoot, CountsAkmodsOnlyWhereAnAkmodIsInstalled) {
  Snapshot s = without_next_module();
  s.boot_builders = known(std::vector<BootBuilder>{{"akmods", "x"}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Loses);
  s.installs = known(
      std::vector<InstallTrace>{{InstallKind::Akmod, InstallPart::KernelModule, "akmod-nvidia", "550.90.07", "rpm"}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
}

TEST(NextBoot, CanNotTellWithoutKnowingTheFile) {
  EXPECT_EQ(next_boot(with_next_module(denied<ModuleFile>())).gpu, NextBootGpu::CannotTell);
  Fact<ModuleFile> file = module_file(kNext);
  ModuleFile damaged = *file;
  damaged.built_for = denied<KernelRelease>();
  EXPECT_EQ(next_boot(with_next_module(known(damaged))).gpu, NextBootGpu::CannotTell);
  damaged = *file;
  damaged.version = denied<DriverVersion>();
  EXPECT_EQ(next_boot(with_next_module(known(damaged))).gpu, NextBootGpu::CannotTell);
  Snapshot s = bumping_node();
  s.libraries = denied<std::vector<Library>>();
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
}

TEST(NextBoot, LosesTheGpuToLibrariesOfAnotherVersion) {
  const Verdict made = verdict(with_next_module(module_file(kNext, "535.183.01")));
  EXPECT_EQ(made.next_boot.gpu, NextBootGpu::Loses);
  EXPECT_EQ(made.next_boot.why,
            "its module is 535.183.01 and libnvidia-ml is 550.90.07: CUDA and NVML refuse to work with that");
  EXPECT_NE(finding(made, FindingCode::ModuleMissingNextKernel), nullptr);
}

// ---- modules of other kernels

TEST(NextBoot, LosesTheGpuToAModuleOfAnotherKernel) {
  EXPECT_EQ(next_boot(with_next_module(module_file(kNext, "550.90.07", kRunning))).gpu, NextBootGpu::Loses);
}

NextBoot weak_update(std::string_view release, std::string_view built_for) {
  Snapshot s = bumping_node();
  s.kernels = known(
      std::vector<InstalledKernel>{installed(release, module_file(release, "550.90.07", built_for, "weak-updates"))});
  s.next_kernel = known(NextKernel{kernel(release), "test"});
  return next_boot(s);
}

TEST(NextBoot, KeepsAWeakUpdateOfTheSameSeries) {
  EXPECT_EQ(weak_update("5.14.0-427.16.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64").gpu, NextBootGpu::Keeps);
  EXPECT_EQ(weak_update("5.14.21-150500.55.68-default", "5.14.21-150500.53.2-default").gpu, NextBootGpu::Keeps);
}

TEST(NextBoot, CanNotTellOfAWeakUpdateOfAnotherSeries) {
  const NextBoot made = weak_update("5.14.0-503.11.1.el9_5.x86_64", "5.14.0-427.13.1.el9_4.x86_64");
  EXPECT_EQ(made.gpu, NextBootGpu::CannotTell);
  EXPECT_NE(made.why.find("another series (el9_4, not el9_5)"), std::string::npos) << made.why;
  EXPECT_EQ(weak_update("5.14.21-150600.1.1-default", "5.14.21-150500.53.2-default").gpu, NextBootGpu::CannotTell);
}

TEST(NextBoot, LosesTheGpuToAWeakUpdateWhereNoInterfaceIsKept) {
  EXPECT_EQ(weak_update("5.4.18-200.fc31.x86_64", "5.4.18-100.fc30.x86_64").gpu, NextBootGpu::Loses);
}

TEST(NextBoot, KeepsAWeakUpdateThatTheRunningKernelTook) {
  Snapshot s = bumping_node();
  s.kernel = known(kernel("5.14.0-503.11.1.el9_5.x86_64"));
  s.kernels = known(std::vector<InstalledKernel>{installed(
      "5.14.0-503.11.1.el9_5.x86_64",
      module_file("5.14.0-503.11.1.el9_5.x86_64", "550.90.07", "5.14.0-427.13.1.el9_4.x86_64", "weak-updates"))});
  s.next_kernel = known(NextKernel{*s.kernel, "test"});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Keeps);
}

// ---- which kernel

TEST(NextBoot, CanNotTellWithoutTheKernelUnlessAllAgree) {
  const auto unknown = [](ErrorCode code) {
    return Fact<NextKernel>::unknown(Error{code, "grub.cfg can not be told"}, "/boot");
  };
  Snapshot keeps = bumping_node();
  keeps.next_kernel = unknown(ErrorCode::Unsupported);
  EXPECT_EQ(next_boot(keeps).gpu, NextBootGpu::Keeps);
  EXPECT_NE(next_boot(keeps).why.find("whichever of the 2 bootable kernels it is"), std::string::npos);
  EXPECT_EQ(next_boot(keeps).kernel, std::nullopt);

  Snapshot differs = without_next_module();
  differs.next_kernel = unknown(ErrorCode::Unsupported);
  EXPECT_EQ(next_boot(differs).gpu, NextBootGpu::CannotTell);
  EXPECT_EQ(next_boot(differs).why, "which kernel boots next is unknown, because grub.cfg can not be told");

  std::vector<InstalledKernel> kernels = *differs.kernels;
  kernels.front().module_file = absent<ModuleFile>();
  differs.kernels = known(kernels);
  EXPECT_EQ(next_boot(differs).gpu, NextBootGpu::Loses);
  EXPECT_NE(finding(verdict(differs), FindingCode::ModuleMissingNextKernel), nullptr);

  kernels.front().has_image = false;  // what can not be booted does not count
  kernels.back().module_file = module_file(kNext);
  differs.kernels = known(kernels);
  EXPECT_EQ(next_boot(differs).gpu, NextBootGpu::Keeps);
  EXPECT_EQ(next_boot(differs).kernel->text(), kNext);

  keeps.next_kernel = unknown(ErrorCode::NotFound);  // a kernel we do not know
  EXPECT_EQ(next_boot(keeps).gpu, NextBootGpu::CannotTell);
  keeps.next_kernel = absent<NextKernel>();  // it comes from outside
  EXPECT_EQ(next_boot(keeps).gpu, NextBootGpu::CannotTell);
}

TEST(NextBoot, CanNotTellOfAKernelThatIsNotInstalled) {
  Snapshot s = bumping_node();
  s.next_kernel = known(NextKernel{kernel("6.8.0-1-generic"), "test"});
  EXPECT_EQ(next_boot(s).why, "6.8.0-1-generic is none of the installed kernels");
  s.kernels = denied<std::vector<InstalledKernel>>();
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
}

// ---- the running kernel

TEST(NextBoot, IsJudgedOfTheRunningKernelTooAndToldOnce) {
  Snapshot s = bumping_node();
  s.next_kernel = known(NextKernel{*s.kernel, "test"});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Keeps);
  std::vector<InstalledKernel> kernels = *s.kernels;
  kernels.front().module_file = absent<ModuleFile>();
  s.kernels = known(kernels);
  EXPECT_NE(finding(verdict(s), FindingCode::ModuleMissingNextKernel), nullptr);  // loaded now, gone from the disk

  Snapshot gone = bumped_node();
  gone.next_kernel = known(NextKernel{*gone.kernel, "test"});
  gone.kernels = known(std::vector<InstalledKernel>{installed(kNext, absent<ModuleFile>())});
  gone.dkms = absent<std::vector<DkmsEntry>>();
  const Verdict made = verdict(gone, nullptr, history_of_healthy());
  EXPECT_EQ(made.next_boot.gpu, NextBootGpu::Loses);
  EXPECT_EQ(made.findings.size(), 1U);  // the root cause says it
}

TEST(NextBoot, IsNoPromiseWhereTheDriverDoesNotLoadNow) {
  Snapshot s = bumped_node();
  s.next_kernel = known(NextKernel{*s.kernel, "test"});
  s.kernels = known(std::vector<InstalledKernel>{installed(kNext, module_file(kNext))});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
  EXPECT_NE(next_boot(s).why.find("not loaded now on this very kernel"), std::string::npos);
}

TEST(NextBoot, MentionsSecureBootForAModuleBuiltHere) {
  Snapshot s = bumping_node();
  s.secure_boot = known(true);
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Keeps);
  EXPECT_NE(next_boot(s).why.find("secure boot is on"), std::string::npos);
}

// ---- containers, and nodes of another kind

TEST(NextBoot, OfADriverContainerIsItsImages) {
  Snapshot s = bumping_node();
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.module_file = absent<ModuleFile>();
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
  const auto here = Matrix::parse_csv("driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n").value();
  const Verdict lost = verdict(s, &here);
  EXPECT_EQ(lost.next_boot.gpu, NextBootGpu::Loses);
  const Finding* missing = finding(lost, FindingCode::ImageMissingNextKernel);
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->next_step,
            "gpuskew tag gpu-node-1   # build 550-5.15.0-122-generic-ubuntu22.04 before the node restarts");
  const auto both = Matrix::parse_csv(
                        "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n550,5.15.0-122-generic,"
                        "ubuntu22.04\n")
                        .value();
  EXPECT_EQ(verdict(s, &both).next_boot.gpu, NextBootGpu::Keeps);
}

TEST(NextBoot, DoesNotApplyWithoutOurKindOfDriver) {
  Snapshot jetson = healthy_node();
  jetson.l4t_release = known<std::string>("35.3.1");
  EXPECT_EQ(next_boot(jetson).gpu, NextBootGpu::NotApplicable);
  Snapshot wsl = healthy_node();
  wsl.wsl = known<std::string>("5.15.167.4-microsoft-standard-WSL2");
  EXPECT_EQ(next_boot(wsl).gpu, NextBootGpu::NotApplicable);
  Snapshot none = bumped_node();
  none.gpus = known(std::vector<Gpu>{});
  EXPECT_EQ(next_boot(none).gpu, NextBootGpu::NotApplicable);
  none.gpus = denied<std::vector<Gpu>>();
  EXPECT_EQ(next_boot(none).gpu, NextBootGpu::CannotTell);
  Snapshot passed = bumped_node();
  passed.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0", "vfio-pci")});
  EXPECT_EQ(next_boot(passed).gpu, NextBootGpu::NotApplicable);
}

TEST(NextBoot, IsNoAllClearForAGpuThatIsGoneNow) {
  Snapshot s = bumping_node();
  s.gpus = known(std::vector<Gpu>{});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
}

TEST(NextBoot, OfANodeThatNeverHadADriverIsNoFinding) {
  Snapshot s = without_next_module();
  s.loaded_driver = absent<DriverVersion>();
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::Loses);
  EXPECT_EQ(finding(verdict(s), FindingCode::ModuleMissingNextKernel), nullptr);
}

TEST(NextBoot, CanNotTellOfADriverThatComesWithTheOsImage) {
  Snapshot s = without_next_module();
  s.installs =
      known(std::vector<InstallTrace>{{InstallKind::OsImage, InstallPart::KernelModule, "cos", "", "os-release"}});
  EXPECT_EQ(next_boot(s).gpu, NextBootGpu::CannotTell);
}

}  // namespace
}  // namespace gpuskew::testing
