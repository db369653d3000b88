// The real dkms, with real kernel headers: what it does to its tree is what we read, and what it says of it is what we
// say. Then one kernel loses its module, and the forecast sees it.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "core/judge.h"
#include "tests/support/dkms_status.h"
#include "tests/support/process.h"
#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

namespace fs = std::filesystem;
constexpr Time kNow = from_unix_ms(1'796'054'400'000);
// Two module builds on a loaded machine.
constexpr std::chrono::seconds kBuildPatience{300};

std::vector<std::string> kernels_with_headers() {
  std::vector<std::string> kernels;
  std::error_code none;
  for (const auto& tree : fs::directory_iterator("/lib/modules", none)) {
    if (fs::exists(tree.path() / "build" / "Makefile")) {
      kernels.push_back(tree.path().filename().string());
    }
  }
  return kernels;
}

class RealDkms : public ::testing::Test {
 protected:
  void SetUp() override {
    kernels = kernels_with_headers();
    if (!fs::exists("/usr/sbin/dkms") || kernels.size() < 2) {
      GTEST_SKIP() << "dkms or two sets of kernel headers are not installed";
    }
    std::sort(kernels.begin(), kernels.end());
    kernels.resize(2);
    // dkms writes absolute links of this machine; beneath the root they lead back into it.
    tree.link(tree.path().string(), "/");
    write_source("");
    tree.directory("/var/lib/dkms");
    for (const std::string& kernel : kernels) {
      tree.write("/boot/vmlinuz-" + kernel, bzimage(kernel));
      tree.write("/usr/src/linux-headers-" + kernel + "/Makefile", "all:\n");
      tree.link("/lib/modules/" + kernel + "/build", "/usr/src/linux-headers-" + kernel);
    }
    write_running_node();
  }

  void write_source(const std::string& more) const {
    const std::string source = "/usr/src/nvidia-550.90.07/";
    tree.write(source + "dkms.conf",
               "PACKAGE_NAME=\"nvidia\"\nPACKAGE_VERSION=\"550.90.07\"\nBUILT_MODULE_NAME[0]=\"nvidia\"\n"
               "DEST_MODULE_LOCATION[0]=\"/updates/dkms\"\nAUTOINSTALL=\"yes\"\nCLEAN=\"true\"\n"
               "MAKE[0]=\"make -C $kernel_source_dir M=$dkms_tree/$module/$module_version/build modules\"\n");
    tree.write(source + "Makefile", "obj-m := nvidia.o\n");
    tree.write(source + "nvidia.c",
               "#include <linux/module.h>\nMODULE_LICENSE(\"NVIDIA\");\nMODULE_VERSION(\"550.90.07\");\n" + more);
  }

  // The first kernel runs with the driver, the second is the next one.
  void write_running_node() const {
    tree.write("/proc/sys/kernel/osrelease", kernels[0] + "\n");
    tree.write("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n");
    tree.write("/sys/module/nvidia/version", "550.90.07\n");
    tree.write("/sys/module/nvidia/initstate", "live\n");
    tree.directory("/sys/firmware");
    tree.directory("/etc/systemd/system");
    tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "nvidia");
    tree.write("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07", "ELF");
    tree.link("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "libnvidia-ml.so.550.90.07");
    tree.write("/boot/grub/grub.cfg", grub_config({kernels[1], kernels[0]}, "\"0\""));
  }

  Outcome dkms(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{"/usr/sbin/dkms",
                                     "--dkmstree",
                                     (tree.path() / "var/lib/dkms").string(),
                                     "--sourcetree",
                                     (tree.path() / "usr/src").string(),
                                     "--installtree",
                                     (tree.path() / "lib/modules").string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command, {}, kBuildPatience);
  }

  Snapshot snapshot() const { return take_snapshot(tree.root(), "gpu-01", "0.1.0", kNow); }

  static NextBoot next_boot(const Snapshot& taken) {
    return judge(taken, NodeHistory(), JudgePolicy(), nullptr, kNow, kNow).next_boot;
  }

  // What dkms prints, and what we read, as the same lines.
  void expect_agreement() const {
    std::vector<DkmsStatusLine> ours;
    const Snapshot taken = snapshot();
    for (const DkmsEntry& entry : *taken.dkms) {
      ours.push_back({entry.module, entry.version, entry.kernel, entry.architecture,
                      std::string(to_string(entry.stage)), entry.note});
    }
    EXPECT_EQ(ours, parse_dkms_status(dkms({"status"}).out));
  }

  const ScratchTree tree;
  std::vector<std::string> kernels;
};

TEST_F(RealDkms, IsReadAsItSpeaksOfItselfAndTheForecastFollowsIt) {
  ASSERT_EQ(dkms({"add", "nvidia/550.90.07"}).code, 0);
  expect_agreement();
  EXPECT_EQ(next_boot(snapshot()).gpu, NextBootGpu::Loses);

  for (const std::string& kernel : kernels) {
    const Outcome built = dkms({"build", "nvidia/550.90.07", "-k", kernel});
    ASSERT_EQ(built.code, 0) << built.out << built.err;
    expect_agreement();
    ASSERT_EQ(dkms({"install", "--no-depmod", "nvidia/550.90.07", "-k", kernel}).code, 0);
    expect_agreement();
  }
  const Snapshot whole = snapshot();
  ASSERT_EQ(whole.kernels->size(), 2U);
  const ModuleFile& file = *whole.kernels->at(1).module_file;
  EXPECT_EQ(file.path, "/lib/modules/" + kernels[1] + "/updates/dkms/nvidia.ko");
  EXPECT_EQ(file.built_for->text(), kernels[1]);
  EXPECT_EQ(file.version->text(), "550.90.07");
  EXPECT_EQ(*file.flavour, ModuleFlavour::Proprietary);
  EXPECT_EQ(next_boot(whole).gpu, NextBootGpu::Keeps) << next_boot(whole).why;

  ASSERT_EQ(dkms({"remove", "nvidia/550.90.07", "-k", kernels[1]}).code, 0);
  expect_agreement();
  const NextBoot lost = next_boot(snapshot());
  EXPECT_EQ(lost.gpu, NextBootGpu::Loses);
  EXPECT_EQ(lost.kernel->text(), kernels[1]);
  EXPECT_EQ(lost.why, "no nvidia module file exists for " + kernels[1]);
}

TEST_F(RealDkms, LeavesALogThatSaysWhyTheNextBootLosesTheGpu) {
  ASSERT_EQ(dkms({"add", "nvidia/550.90.07"}).code, 0);
  write_source("int broken = no_such_thing;\n");
  EXPECT_NE(dkms({"build", "nvidia/550.90.07", "-k", kernels[1]}).code, 0);
  const Snapshot taken = snapshot();
  ASSERT_EQ(taken.dkms->size(), 1U);
  EXPECT_EQ(taken.dkms->at(0).stage, DkmsStage::Failed);
  EXPECT_EQ(taken.dkms->at(0).kernel, kernels[1]);
  EXPECT_NE(taken.dkms->at(0).note.find("build/make.log: "), std::string::npos);
  EXPECT_NE(taken.dkms->at(0).note.find("no_such_thing"), std::string::npos) << taken.dkms->at(0).note;
  EXPECT_EQ(next_boot(taken).gpu, NextBootGpu::Loses);
  EXPECT_NE(next_boot(taken).why.find("dkms could not build it"), std::string::npos) << next_boot(taken).why;
}

TEST_F(RealDkms, FailsItselfOnAVersionWithoutItsSourceAndWeSayWhy) {
  ASSERT_EQ(dkms({"add", "nvidia/550.90.07"}).code, 0);
  fs::remove_all(tree.path() / "usr/src/nvidia-550.90.07");
  const Outcome built = dkms({"build", "nvidia/550.90.07", "-k", kernels[1]});
  EXPECT_NE(built.code, 0);
  EXPECT_NE((built.out + built.err).find("dkms.conf"), std::string::npos) << built.out << built.err;
  const Snapshot taken = snapshot();
  ASSERT_EQ(taken.dkms->size(), 1U);
  EXPECT_EQ(taken.dkms->at(0).stage, DkmsStage::Broken);
}

}  // namespace
}  // namespace gpuskew
