// Cases of tests/fixtures/cases about module files, dkms and the next boot. Each becomes the host it was taken from.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "core/judge.h"
#include "tests/support/dkms_status.h"
#include "tests/unit/agent/boot_tree.h"
#include "tests/unit/agent/compressed.h"

namespace gpuskew {
namespace {

constexpr Time kNow = from_unix_ms(1'796'054'400'000);

class Case {
 public:
  explicit Case(std::string folder) : folder_(std::move(folder)) {
    tree.directory("/sys/firmware");
    tree.directory("/usr/lib");
    tree.directory("/etc/systemd/system");
    tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "nvidia");
  }

  std::string file(const std::string& name) const {
    std::ifstream in(std::filesystem::path(GPUSKEW_FIXTURES) / "cases" / folder_ / name, std::ios::binary);
    EXPECT_TRUE(in.good()) << folder_ << "/" << name;
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::string kernel() const {
    std::string text = file("uname.txt");
    text.erase(text.find_last_not_of("\n ") + 1);
    return text;
  }
  /// What stands behind "name:" in modinfo.txt.
  std::string modinfo(const std::string& name) const {
    const std::string text = file("modinfo.txt");
    const std::size_t at = text.find_first_not_of(' ', text.find(name + ":") + name.size() + 1);
    return text.substr(at, text.find('\n', at) - at);
  }
  /// The kernel of uname.txt runs, is installed and boots next.
  void run_kernel() const {
    tree.write("/proc/sys/kernel/osrelease", kernel() + "\n");
    install_kernel(tree, kernel());
    tree.write("/boot/grub/grub.cfg", grub_config({kernel()}, "\"0\""));
  }
  void load(const std::string& version) const {
    tree.write("/sys/module/nvidia/version", version + "\n");
    tree.write("/sys/module/nvidia/initstate", "live\n");
    tree.write("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version + "  Release Build\n");
  }
  Snapshot snapshot() const { return take_snapshot(tree.root(), "n", "0.1.0", kNow); }
  static NextBoot next_boot(const Snapshot& s) {
    return judge(s, NodeHistory(), JudgePolicy(), nullptr, kNow, kNow).next_boot;
  }

  const ScratchTree tree;

 private:
  std::string folder_;
};

std::string module_of(const std::string& version, const std::string& license, const std::string& kernel) {
  std::string modinfo;
  for (const std::string& entry : {std::string("alias=x"), "version=" + version, "license=" + license,
                                   "vermagic=" + kernel + " SMP mod_unload "}) {
    modinfo += entry + '\0';
  }
  return elf_module(modinfo);
}

TEST(Case016ModuleFileNamedNvidia352, IsAnInstalledModule) {
  const Case c("016-module-file-named-nvidia-352");
  const std::string kernel = "4.4.0-45-generic";
  c.tree.write("/proc/sys/kernel/osrelease", kernel + "\n");
  c.tree.write("/lib/modules/" + kernel + "/updates/dkms/nvidia_352.ko", module_of("352.63", "NVIDIA", kernel));
  EXPECT_NE(c.file("modinfo.txt").find("modinfo -F version nvidia_352\n352.63"), std::string::npos);
  const Snapshot s = c.snapshot();
  EXPECT_EQ(s.module_file->version->text(), "352.63");
  EXPECT_EQ(s.module_file->built_for->text(), kernel);
}

TEST(Case096MismatchDkmsLeftOldModule, RebootingAloneRepeatsIt) {
  const Case c("096-mismatch-dkms-left-old-module");
  c.run_kernel();
  c.load("595.80");
  c.tree.write(c.modinfo("filename"), zstandard(module_of(c.modinfo("version"), c.modinfo("license"), c.kernel())));
  c.tree.write("/usr/lib/libnvidia-ml.so.595.84", "ELF");
  c.tree.link("/usr/lib/libnvidia-ml.so.1", "libnvidia-ml.so.595.84");
  const Snapshot s = c.snapshot();
  EXPECT_EQ(s.module_file->version->text(), "595.80");
  EXPECT_EQ(*s.module_file->flavour, ModuleFlavour::Open);
  const Verdict made = judge(s, NodeHistory(), JudgePolicy(), nullptr, kNow, kNow);
  EXPECT_EQ(made.next_boot.gpu, NextBootGpu::Loses);
  EXPECT_NE(made.next_boot.why.find("its module is 595.80 and libnvidia-ml is 595.84"), std::string::npos);
  ASSERT_EQ(made.findings.size(), 1U);  // one root cause
  EXPECT_EQ(made.findings[0].code, FindingCode::DriverLibraryMismatch);
  EXPECT_EQ(made.findings[0].reboot_helps, RebootHelps::No);
}

TEST(Case099DkmsBuildFailedNewKernel, IsAFailedBuildAndNotAnInstalledDriver) {
  const Case c("099-dkms-build-failed-new-kernel");
  c.run_kernel();
  c.tree.write("/usr/src/nvidia-470.256.02/dkms.conf", "x");
  c.tree.link("/var/lib/dkms/nvidia/470.256.02/source", "/usr/src/nvidia-470.256.02");
  c.tree.write("/var/lib/dkms/nvidia/470.256.02/build/make.log",
               "DKMS make.log for nvidia-470.256.02 for kernel " + c.kernel() +
                   " (x86_64)\nnv-mmap.c:10:5: error: implicit declaration of function 'x'\n");
  c.tree.write("/lib/modules/" + c.kernel() + "/build/Makefile", "headers are there");
  EXPECT_NE(c.file("dkms_log.txt").find("/var/lib/dkms/nvidia/470.256.02/build/make.log"), std::string::npos);
  const Snapshot s = c.snapshot();
  ASSERT_EQ(s.dkms->size(), 1U);
  EXPECT_EQ(s.dkms->at(0).stage, DkmsStage::Failed);
  EXPECT_EQ(s.dkms->at(0).kernel, c.kernel());
  const NextBoot made = Case::next_boot(s);
  EXPECT_EQ(made.gpu, NextBootGpu::Loses);
  EXPECT_NE(made.why.find("dkms could not build it (/var/lib/dkms/nvidia/470.256.02/build/make.log"),
            std::string::npos);
  // What dkms itself says of it: a state without a kernel.
  const auto status = parse_dkms_status(c.file("dkms-status.txt"));
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0], (DkmsStatusLine{"nvidia", "470.256.02", "", "", "added", ""}));
}

TEST(Case101DkmsGccMismatch, IsTheCompilersAndNotTheDriversFault) {
  const Case c("101-dkms-gcc-mismatch");
  c.run_kernel();
  c.tree.write("/usr/src/nvidia-440.64/dkms.conf", "x");
  c.tree.link("/var/lib/dkms/nvidia/440.64/source", "/usr/src/nvidia-440.64");
  c.tree.write("/var/lib/dkms/nvidia/440.64/build/make.log", c.file("make.log"));
  const Snapshot s = c.snapshot();
  ASSERT_EQ(s.dkms->size(), 1U);
  EXPECT_EQ(s.dkms->at(0).stage, DkmsStage::Failed);
  EXPECT_EQ(s.dkms->at(0).kernel, "5.5.9-918.native");
  EXPECT_NE(s.dkms->at(0).note.find("the compiler is not the one the kernel was built with"), std::string::npos);
  EXPECT_NE(s.dkms->at(0).note.find("IGNORE_CC_MISMATCH"), std::string::npos);
  EXPECT_TRUE(s.module_file.is_absent());
  EXPECT_EQ(Case::next_boot(s).gpu, NextBootGpu::Loses);
}

TEST(Case102DkmsTreeBroken, IsABrokenTreeAndNotNone) {
  const Case c("102-dkms-tree-broken");
  EXPECT_TRUE(parse_dkms_status(c.file("dkms-status.txt")).empty());
  EXPECT_NE(c.file("dkms-status.txt").find("/var/lib/dkms/nvidia/390.48/source/dkms.conf does not exist"),
            std::string::npos);
  c.tree.link("/var/lib/dkms/nvidia/390.48/source", "/usr/src/nvidia-390.48");
  c.tree.write("/usr/src/nvidia-396.45/dkms.conf", "x");
  c.tree.link("/var/lib/dkms/nvidia/396.45/source", "/usr/src/nvidia-396.45");
  const auto good = parse_dkms_status(c.file("dkms-status.other-host.txt"));
  ASSERT_EQ(good.size(), 3U);
  for (const DkmsStatusLine& line : good) {
    const std::string place = line.version + "/" + line.kernel + "/" + line.architecture;
    c.tree.write("/var/lib/dkms/nvidia/" + place + "/module/nvidia.ko.xz", "x");
    c.tree.link("/var/lib/dkms/nvidia/kernel-" + line.kernel + "-" + line.architecture, place);
  }
  const Snapshot s = c.snapshot();
  ASSERT_EQ(s.dkms->size(), 4U);
  EXPECT_EQ(s.dkms->at(0).version, "390.48");
  EXPECT_EQ(s.dkms->at(0).stage, DkmsStage::Broken);
  EXPECT_NE(s.dkms->at(0).note.find("390.48/source/dkms.conf does not exist"), std::string::npos);
  for (std::size_t index = 0; index < good.size(); ++index) {
    EXPECT_EQ(s.dkms->at(index + 1).kernel, good[index].kernel);
    EXPECT_EQ(to_string(s.dkms->at(index + 1).stage), good[index].state);
  }
  const auto cleaned = parse_dkms_status(c.file("dkms-status.after-cleanup.txt"));
  ASSERT_EQ(cleaned.size(), 1U);
  EXPECT_EQ(cleaned[0].note, "original_module exists");
  EXPECT_EQ(cleaned[0].kernel, "4.17.14-202.fc28.x86_64");
}

TEST(Case104VermagicWeakUpdates, IsAModuleOfTheWrongKernel) {
  const Case c("104-vermagic-weak-updates");
  c.run_kernel();
  const std::string old_kernel = "5.4.18-100.fc30.x86_64";
  EXPECT_NE(c.file("dmesg.txt").find("version magic '" + old_kernel), std::string::npos);
  c.tree.write("/lib/modules/" + old_kernel + "/extra/nvidia/nvidia.ko.xz",
               xzipped(module_of("440.59", "NVIDIA", old_kernel)));
  c.tree.link("/lib/modules/" + c.kernel() + "/weak-updates/nvidia.ko.xz",
              "/lib/modules/" + old_kernel + "/extra/nvidia/nvidia.ko.xz");
  const Snapshot s = c.snapshot();
  ASSERT_TRUE(s.module_file.is_known());
  EXPECT_EQ(s.module_file->built_for->text(), old_kernel);
  EXPECT_EQ(Case::next_boot(s).gpu, NextBootGpu::Loses) << Case::next_boot(s).why;
}

TEST(Case126UbuntuPrebuiltNotDkms, NeedsThePackageOfTheNextKernel) {
  const Case c("126-ubuntu-prebuilt-not-dkms");
  const std::string next = "6.17.0-1020-nvidia";
  c.run_kernel();
  c.tree.write(c.modinfo("filename"), module_of(c.modinfo("version"), "Dual MIT/GPL", c.kernel()));
  c.tree.write("/proc/driver/nvidia/version", c.file("proc_driver_nvidia_version"));
  c.tree.write("/sys/module/nvidia/version", "580.142\n");
  c.tree.write("/sys/module/nvidia/initstate", "live\n");
  Snapshot s = c.snapshot();
  EXPECT_EQ(module_home(s.module_file->path), ModuleHome::Prebuilt);
  EXPECT_TRUE(s.dkms.is_absent());
  EXPECT_EQ(Case::next_boot(s).gpu, NextBootGpu::Keeps) << Case::next_boot(s).why;
  install_kernel(c.tree, next);
  c.tree.write("/boot/grub/grub.cfg", grub_config({next, c.kernel()}, "\"0\""));
  s = c.snapshot();
  const Verdict made = judge(s, NodeHistory(), JudgePolicy(), nullptr, kNow, kNow);
  EXPECT_EQ(made.next_boot.gpu, NextBootGpu::Loses);
  const auto lost = std::find_if(made.findings.begin(), made.findings.end(), [](const Finding& finding) {
    return finding.code == FindingCode::ModuleMissingNextKernel;
  });
  ASSERT_NE(lost, made.findings.end());
  EXPECT_EQ(lost->next_step, "ssh n sudo apt-get install linux-modules-nvidia-580-open-6.17.0-1020-nvidia");
}

}  // namespace
}  // namespace gpuskew
