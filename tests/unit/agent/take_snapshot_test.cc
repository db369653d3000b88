#include "agent/take_snapshot.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr Time kNow = from_unix_ms(1'796'054'400'000);

Snapshot snapshot_of(const HostRoot& root) {
  return take_snapshot(root, "gpu-01", "0.1.0", kNow);
}
Snapshot snapshot_of(std::string_view scenario) {
  return snapshot_of(host_fixture(scenario));
}

TEST(TakeSnapshot, ReadsAHealthyNodeWhole) {
  const Snapshot snapshot = snapshot_of("healthy-ubuntu2204-550");
  EXPECT_EQ(snapshot.node, "gpu-01");
  EXPECT_EQ(snapshot.agent_version, "0.1.0");
  EXPECT_EQ(snapshot.taken_at, kNow);
  EXPECT_EQ(*snapshot.boot_id, "3f1c7a52-8d0e-4b6a-9c41-5e2f7d9a1b60");
  EXPECT_EQ(to_rfc3339(*snapshot.boot_time), "2024-10-01T08:00:00Z");
  EXPECT_EQ(snapshot.kernel->text(), "5.15.0-119-generic");
  EXPECT_EQ(*snapshot.architecture, "x86_64");
  EXPECT_EQ(snapshot.os->id, "ubuntu");
  EXPECT_EQ(snapshot.os->version_id, "22.04");
  EXPECT_EQ(snapshot.loaded_driver->text(), "550.90.07");
  EXPECT_EQ(*snapshot.loaded_flavour, ModuleFlavour::Proprietary);
  EXPECT_TRUE(snapshot.l4t_release.is_absent());
  EXPECT_EQ(snapshot.module_file->path, "/lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko");
  EXPECT_EQ(snapshot.module_file->version->text(), "550.90.07");
  ASSERT_EQ(snapshot.libraries->size(), 2U);
  EXPECT_EQ(snapshot.libraries->at(0).version.text(), "550.90.07");
  EXPECT_TRUE(snapshot.driver_container.is_absent());
  ASSERT_EQ(snapshot.installs->size(), 3U);
  EXPECT_EQ(snapshot.installs->front().name, "libnvidia-compute-550");
  EXPECT_TRUE(snapshot.fabric_manager.is_absent());
  EXPECT_TRUE(snapshot.validations.is_absent());
  EXPECT_TRUE(snapshot.wsl.is_absent());
  ASSERT_EQ(snapshot.gpus->size(), 2U);
  EXPECT_EQ(*snapshot.gpus->at(1).driver, "nvidia");
  EXPECT_TRUE(snapshot.pci_functions->empty());
  EXPECT_EQ(snapshot.modules->size(), 4U);
  EXPECT_EQ(snapshot.remembered, std::nullopt);
}

TEST(TakeSnapshot, ReadsANodeThatLostItsGpuToAKernelBump) {
  const Snapshot snapshot = snapshot_of("gpu-gone-after-bump");
  EXPECT_EQ(snapshot.kernel->text(), "5.15.0-122-generic");
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
  EXPECT_TRUE(snapshot.loaded_flavour.is_absent());
  EXPECT_TRUE(snapshot.module_file.is_absent());
  EXPECT_EQ(snapshot.module_file.source(), "/lib/modules/5.15.0-122-generic");
  EXPECT_EQ(snapshot.libraries->size(), 2U);
  ASSERT_EQ(snapshot.gpus->size(), 2U);
  EXPECT_TRUE(snapshot.gpus->at(0).driver.is_absent());
  EXPECT_NE(*snapshot.boot_id, *snapshot_of("healthy-ubuntu2204-550").boot_id);
}

TEST(TakeSnapshot, ReadsThreeVersionsApartOnAMismatch) {
  const Snapshot snapshot = snapshot_of("library-mismatch");
  EXPECT_EQ(snapshot.loaded_driver->text(), "535.183.01");
  EXPECT_EQ(snapshot.libraries->at(0).version.text(), "535.183.06");
  EXPECT_EQ(snapshot.module_file->version->text(), "535.183.06");
  EXPECT_EQ(snapshot.installs->front().changed_by,
            "/usr/bin/unattended-upgrade, 2024-10-01 06:31:12 by the node's clock");
}

TEST(TakeSnapshot, ReadsACompressedModuleOnANewerKernel) {
  const Snapshot snapshot = snapshot_of("skewed");
  EXPECT_EQ(snapshot.kernel->text(), "6.8.0-52-generic");
  EXPECT_EQ(snapshot.architecture.source(), "/proc/sys/kernel/arch");
  EXPECT_EQ(*snapshot.loaded_flavour, ModuleFlavour::Open);
  EXPECT_EQ(snapshot.module_file->path, "/lib/modules/6.8.0-52-generic/updates/dkms/nvidia.ko.zst");
  EXPECT_EQ(snapshot.module_file->version->text(), "550.90.07");
}

TEST(TakeSnapshot, ReadsACapturedMachineWithoutAGpu) {
  const Snapshot snapshot = snapshot_of("no-gpu");
  EXPECT_TRUE(snapshot.gpus->empty());
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
  EXPECT_TRUE(snapshot.module_file.is_unknown());
  EXPECT_TRUE(snapshot.libraries.is_absent());
  EXPECT_EQ(snapshot.os->id, "debian");
}

TEST(TakeSnapshot, SeesNouveauHoldTheGpu) {
  const Snapshot snapshot = snapshot_of("nouveau-bound");
  ASSERT_EQ(snapshot.gpus->size(), 1U);
  EXPECT_EQ(*snapshot.gpus->at(0).driver, "nouveau");
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
}

TEST(TakeSnapshot, FindsADriverContainersLibraries) {
  const Snapshot snapshot = snapshot_of("driver-container");
  EXPECT_TRUE(snapshot.driver_container->mounted);
  ASSERT_EQ(snapshot.installs->size(), 2U);
  EXPECT_EQ(snapshot.installs->front().kind, InstallKind::Container);
  EXPECT_TRUE(snapshot.module_file.is_absent());
  ASSERT_EQ(snapshot.libraries->size(), 2U);
  EXPECT_EQ(snapshot.libraries->at(0).root, DriverRoot::Container);
  EXPECT_EQ(snapshot.libraries->at(0).version, *snapshot.loaded_driver);
}

TEST(TakeSnapshot, TakesAJetsonForOne) {
  const Snapshot snapshot = snapshot_of("jetson");
  EXPECT_EQ(*snapshot.l4t_release, "35.3.1");
  EXPECT_EQ(*snapshot.architecture, "aarch64");
  EXPECT_TRUE(snapshot.loaded_driver.is_unknown());
  EXPECT_TRUE(snapshot.gpus->empty());
}

TEST(TakeSnapshot, KnowsNothingOfAnEmptyRoot) {
  const ScratchTree tree;
  const Snapshot snapshot = snapshot_of(tree.root());
  EXPECT_TRUE(snapshot.kernel.is_unknown());
  EXPECT_TRUE(snapshot.boot_id.is_unknown());
  EXPECT_TRUE(snapshot.boot_time.is_unknown());
  EXPECT_TRUE(snapshot.architecture.is_unknown());
  EXPECT_TRUE(snapshot.os.is_unknown());
  EXPECT_TRUE(snapshot.loaded_driver.is_unknown());
  EXPECT_TRUE(snapshot.loaded_flavour.is_unknown());
  EXPECT_TRUE(snapshot.module_file.is_unknown());
  EXPECT_TRUE(snapshot.libraries.is_unknown());
  EXPECT_TRUE(snapshot.l4t_release.is_unknown());
  EXPECT_TRUE(snapshot.driver_container.is_unknown());
  EXPECT_TRUE(snapshot.installs.is_unknown());
  EXPECT_TRUE(snapshot.fabric_manager.is_unknown());
  EXPECT_TRUE(snapshot.validations.is_unknown());
  EXPECT_TRUE(snapshot.wsl.is_unknown());
  EXPECT_TRUE(snapshot.gpus.is_unknown());
  EXPECT_TRUE(snapshot.pci_functions.is_unknown());
  EXPECT_TRUE(snapshot.modules.is_unknown());
  EXPECT_TRUE(snapshot.device_nodes.is_unknown());
  EXPECT_TRUE(snapshot.holders.is_unknown());
  EXPECT_TRUE(snapshot.command_line.is_unknown());
  EXPECT_TRUE(snapshot.secure_boot.is_unknown());
  EXPECT_TRUE(snapshot.lockdown.is_unknown());
  EXPECT_TRUE(snapshot.kubelet.is_unknown());
}

TEST(TakeSnapshot, KeepsEveryFactApartFromTheTroubleOfOthers) {
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/osrelease", "5.15.0-119-generic\n");
  tree.fifo("/proc/sys/kernel/random/boot_id");
  tree.write("/etc/os-release", std::string(1 << 20, 'x'));
  tree.broken("/sys/module/nvidia");
  tree.fifo("/sys/bus/pci/devices/0000:3b:00.0/vendor");
  tree.broken("/lib/modules/5.15.0-119-generic");
  tree.write("/usr/lib/libcuda.so.1", "a plain file");
  tree.broken("/run/nvidia");
  const Snapshot snapshot = snapshot_of(tree.root());
  EXPECT_TRUE(snapshot.kernel.is_known());
  EXPECT_TRUE(snapshot.l4t_release.is_absent());
  EXPECT_TRUE(snapshot.boot_id.is_unknown());
  EXPECT_TRUE(snapshot.os.is_unknown());
  EXPECT_TRUE(snapshot.loaded_driver.is_unknown());
  EXPECT_TRUE(snapshot.gpus.is_unknown());
  EXPECT_TRUE(snapshot.module_file.is_unknown());
  EXPECT_TRUE(snapshot.libraries.is_unknown());
  EXPECT_TRUE(snapshot.driver_container.is_unknown());
}

TEST(TakeSnapshot, FindsTheSameFactsTwice) {
  const HostRoot root = host_fixture("skewed");
  ReadCache cache;
  const Snapshot first = take_snapshot(root, "n", "0", kNow, &cache);
  const Snapshot second = take_snapshot(root, "n", "0", kNow + std::chrono::seconds(15), &cache);
  EXPECT_TRUE(second.same_facts(first));
}

TEST(TakeSnapshot, ReadsThisMachineWithoutABadFact) {
  const Snapshot snapshot = snapshot_of(root_at("/"));
  EXPECT_TRUE(snapshot.kernel.is_known());
  EXPECT_TRUE(snapshot.boot_id.is_known());
  EXPECT_TRUE(snapshot.boot_time.is_known());
}

}  // namespace
}  // namespace gpuskew
