// gpuskew-agent check, as gates call it: the shipped binary on host trees.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/host_tree.h"
#include "tests/e2e/stack.h"
#include "tests/support/process.h"

namespace gpuskew {
namespace {

class Check : public ::testing::Test {
 protected:
  std::vector<std::string> command(const HostTree& host, std::vector<std::string> flags) const {
    std::vector<std::string> words{
        GPUSKEW_BIN_DIR "/gpuskew-agent", "check", "--config", config_, "--host-root", host.path().string()};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }
  Outcome check(const HostTree& host, std::vector<std::string> flags = {}) const {
    return run(command(host, std::move(flags)));
  }
  HostTree host(std::string_view fixture) const { return HostTree(fixture, work_.path() / "host"); }

  void SetUp() override {
    config_ = (work_.path() / "agent.yaml").string();
    write_file(config_, "node: gpu-node-1\nstate_directory: " + (work_.path() / "state").string() + "\n");
  }

  TemporaryDirectory work_;
  std::string config_;
};

// The links by which sysfs says which driver holds each device.
void bind_again(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const auto& device : std::filesystem::directory_iterator(from)) {
    const auto driver = to / device.path().filename() / "driver";
    if (std::filesystem::is_symlink(device.path() / "driver") && !std::filesystem::is_symlink(driver)) {
      std::filesystem::copy_symlink(device.path() / "driver", driver);
    }
  }
}

TEST_F(Check, IsGoodOnAHealthyNode) {
  const HostTree node = host(kHealthy);
  const Outcome outcome = check(node);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("gpu-node-1: ok: driver 550.90.07 on 5.15.0-119-generic"), std::string::npos)
      << outcome.out;
}

TEST_F(Check, HasAFindingWhereTheLibraryIsAnother) {
  const HostTree node = host(kMismatch);
  const Outcome outcome = check(node, {"--json"});
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["findings"][0]["code"], "driver-library-mismatch");
}

TEST_F(Check, CouldNotTellWhereNothingCanBeRead) {
  const HostTree node = host(kHealthy);
  for (const auto& entry : std::filesystem::directory_iterator(node.path())) {
    std::filesystem::remove_all(entry.path());
  }
  EXPECT_EQ(check(node).code, 2);
  EXPECT_EQ(check(node, {"--next-boot"}).code, 2);
}

TEST_F(Check, SaysWhatTheNextBootWouldLoseAndLetsThisBootPass) {
  const HostTree node = host(kNextKernel);
  const Outcome next = check(node, {"--next-boot"});
  EXPECT_EQ(next.code, 1) << next.out << next.err;
  EXPECT_NE(next.out.find("next boot: loses the GPU"), std::string::npos) << next.out;
  EXPECT_NE(next.out.find("module-missing-next-kernel"), std::string::npos) << next.out;
  EXPECT_NE(next.out.find("5.15.0-122-generic"), std::string::npos) << next.out;
  EXPECT_NE(next.out.find("dkms autoinstall -k 5.15.0-122-generic"), std::string::npos) << next.out;

  const Outcome now = check(node);
  EXPECT_EQ(now.code, 0) << now.out << now.err;
  EXPECT_NE(now.out.find("next boot: loses the GPU"), std::string::npos) << now.out;
}

TEST_F(Check, LetsTheRebootPassOnceTheModuleIsBuilt) {
  const HostTree node = host(kNextKernel);
  const auto modules = node.path() / "usr/lib/modules";
  std::filesystem::create_directories(modules / "5.15.0-122-generic/updates/dkms");
  const Outcome made = run({GPUSKEW_SOURCE_DIR "/tests/support/make_module_file",
                            (modules / "5.15.0-122-generic/updates/dkms/nvidia.ko").string(), "version=550.90.07",
                            "license=NVIDIA", "vermagic=5.15.0-122-generic SMP mod_unload modversions "});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(check(node, {"--next-boot"}).code, 2) << "depmod has not run: modprobe would not find it";
  write_file(modules / "5.15.0-122-generic/modules.dep", "updates/dkms/nvidia.ko:\n");
  const Outcome next = check(node, {"--next-boot"});
  EXPECT_EQ(next.code, 0) << next.out << next.err;
  EXPECT_NE(next.out.find("next boot: keeps the GPU"), std::string::npos) << next.out;
}

TEST_F(Check, FollowsTheBootLoaderBackToTheOldKernel) {
  const HostTree node = host(kNextKernel);
  const std::string entry = "gnulinux-advanced-4f1e>gnulinux-5.15.0-119-generic-advanced-4f1e";
  std::string block = "# GRUB Environment Block\nnext_entry=" + entry + "\n";
  block.resize(1024, '#');
  node.write("boot/grub/grubenv", block);
  const Outcome next = check(node, {"--next-boot"});
  EXPECT_EQ(next.code, 0) << next.out << next.err;
}

TEST_F(Check, JudgesAnImageThatWasNeverBooted) {
  const HostTree image = host(kNextKernel);
  for (const char* part : {"proc", "sys", "run"}) {
    std::filesystem::remove_all(image.path() / part);
    std::filesystem::create_directory(image.path() / part);
  }
  const Outcome lost = check(image, {"--next-boot", "--expect-gpu"});
  EXPECT_EQ(lost.code, 1) << lost.out << lost.err;
  std::filesystem::remove(image.path() / "boot/vmlinuz-5.15.0-122-generic");
  std::filesystem::remove_all(image.path() / "usr/lib/modules/5.15.0-122-generic");
  std::string block = "# GRUB Environment Block\nnext_entry=1>1\n";
  block.resize(1024, '#');
  image.write("boot/grub/grubenv", block);
  const Outcome kept = check(image, {"--next-boot", "--expect-gpu"});
  EXPECT_EQ(kept.code, 0) << kept.out << kept.err;
}

TEST_F(Check, WaitsForADriverThatIsStillComing) {
  const HostTree node = host(kHealthy);
  node.reboot("0f0f0f0f-1111-2222-3333-444444444444", 5);
  const auto aside = work_.path() / "loaded";
  constexpr auto kAsItIs = std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks |
                           std::filesystem::copy_options::overwrite_existing;
  for (const char* part : {"sys", "proc"}) {
    std::filesystem::create_directories(aside / part);
    std::filesystem::copy(node.path() / part, aside / part, kAsItIs);
  }
  node.unload_nvidia();
  ASSERT_EQ(check(node).code, 2) << "a boot that is five seconds old has its grace";
  Process gate = Process::start(command(node, {"--wait", "30s"}));
  // Before the gate watches or while it does: its inotify tells, or its poll of a second.
  std::filesystem::copy(aside / "proc", node.path() / "proc", kAsItIs);
  for (const auto& module : std::filesystem::directory_iterator(aside / "sys/module")) {
    std::filesystem::copy(module.path(), node.path() / "sys/module" / module.path().filename(), kAsItIs);
  }
  bind_again(aside / "sys/bus/pci/devices", node.path() / "sys/bus/pci/devices");
  EXPECT_EQ(gate.wait(), 0) << gate.out() << gate.err();
}

TEST_F(Check, RefusesAWaitWithoutAnEnd) {
  const HostTree node = host(kHealthy);
  const Outcome outcome = check(node, {"--wait", "2d"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--wait"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace gpuskew
