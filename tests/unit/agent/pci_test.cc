#include "agent/probes/pci.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

PciDevices pci_of(const ScratchTree& tree) {
  PciCache cache;
  return read_pci(tree.root(), cache);
}

Fact<std::vector<Gpu>> gpus_of(const ScratchTree& tree) {
  return pci_of(tree).gpus;
}

TEST(Gpus, AreDisplayAnd3dControllersOfNvidiaOnly) {
  const ScratchTree tree;
  tree.pci("0001:00:00.0", "0x10de", "0x20b2", "0x030200", "nvidia");
  tree.pci("0000:01:00.0", "0x10de", "0x13c2", "0x030000", "nouveau");
  tree.pci("0000:01:00.1", "0x10de", "0x0fbb", "0x040300", "snd_hda_intel");  // its audio function
  tree.pci("0005:00:00.0", "0x10de", "0x1af1", "0x068000");                   // NVSwitch
  tree.pci("0004:00:00.0", "0x10de", "0x22ce", "0x060400", "pcieport");       // GB10's host bridge
  tree.pci("0000:02:00.0", "0x1a03", "0x2000", "0x030000", "ast");            // another maker's VGA
  const auto fact = gpus_of(tree);
  ASSERT_TRUE(fact.is_known());
  ASSERT_EQ(fact->size(), 2U);
  EXPECT_EQ(fact->at(0).address, "0000:01:00.0");
  EXPECT_EQ(*fact->at(0).driver, "nouveau");
  EXPECT_EQ(fact->at(1).address, "0001:00:00.0");
  EXPECT_EQ(fact->at(1).device_id, 0x20b2);
  EXPECT_EQ(fact->at(1).driver.source(), "/sys/bus/pci/devices/0001:00:00.0/driver");
  EXPECT_EQ(fact.source(), "/sys/bus/pci/devices");
}

TEST(Gpus, WithoutADriverSayThatNoneIsBound) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200");
  const auto fact = gpus_of(tree);
  EXPECT_TRUE(fact->at(0).driver.is_absent());
}

TEST(Gpus, AreNotTheirVirtualFunctions) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "nvidia");
  tree.pci("0000:3b:00.4", "0x10de", "0x20b0", "0x030200", "nvidia");
  tree.link("/sys/bus/pci/devices/0000:3b:00.4/physfn", "../0000:3b:00.0");
  EXPECT_EQ(gpus_of(tree)->size(), 1U);
}

TEST(Gpus, AreKnownToBeNoneWhereTheBusIsEmptyOrNotThere) {
  const ScratchTree tree;
  tree.pci("0000:00:00.0", "0x8086", "0x1237", "0x060000");
  EXPECT_TRUE(gpus_of(tree)->empty());
  tree.remove("/sys/bus/pci");
  tree.write("/sys/bus/virtio/drivers_autoprobe", "1\n");
  const auto fact = gpus_of(tree);
  ASSERT_TRUE(fact.is_known());
  EXPECT_TRUE(fact->empty());
  EXPECT_EQ(fact.source(), "/sys/bus");
}

TEST(Gpus, AreUnknownWithoutSysfs) {
  const ScratchTree tree;
  EXPECT_TRUE(gpus_of(tree).is_unknown());
  tree.directory("/sys/bus");  // an empty mount point
  EXPECT_TRUE(gpus_of(tree).is_unknown());
  tree.directory("/sys/bus/pci");  // a bus without its devices
  EXPECT_TRUE(gpus_of(tree).is_unknown());
}

TEST(Gpus, AreUnknownWhenAnyDeviceCanNotBeRead) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "nvidia");
  tree.fifo("/sys/bus/pci/devices/0000:86:00.0/vendor");
  const auto fact = gpus_of(tree);
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().what, "reading /sys/bus/pci/devices/0000:86:00.0/vendor: not a regular file");
}

TEST(Gpus, AreUnknownWhenAnAttributeIsNoNumber) {
  for (const char* bad : {"", "10de\n", "0x\n", "0xzz\n", "0x10de junk\n", "0x110de0000000\n"}) {
    const ScratchTree tree;
    tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200");
    tree.write("/sys/bus/pci/devices/0000:3b:00.0/vendor", bad);
    EXPECT_EQ(gpus_of(tree).why().code, ErrorCode::Malformed) << bad;
  }
}

TEST(Gpus, LeaveOutADeviceThatWentBetweenListingAndReading) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200");
  tree.link("/sys/bus/pci/devices/0000:86:00.0", "../../../devices/gone");
  EXPECT_EQ(gpus_of(tree)->size(), 1U);
}

TEST(Gpus, KeepABoundDriverThatCanNotBeToldApartFromTheRest) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200");
  tree.write("/sys/bus/pci/devices/0000:3b:00.0/driver", "no link");
  const auto fact = gpus_of(tree);
  ASSERT_TRUE(fact.is_known());
  EXPECT_TRUE(fact->at(0).driver.is_unknown());
}

TEST(Gpus, NameWhateverDriverHoldsThem) {
  const ScratchTree tree;
  tree.pci("0000:01:00.0", "0x10de", "0x20b0", "0x030200", "vfio-pci");
  tree.pci("0000:02:00.0", "0x10de", "0x2342", "0x030200", "nvgrace_gpu_vfio_pci");
  tree.pci("0000:03:00.0", "0x10de", "0x20b0", "0x030200", "NovaCore");
  const auto gpus = gpus_of(tree);
  EXPECT_EQ(*gpus->at(0).driver, "vfio-pci");
  EXPECT_EQ(*gpus->at(1).driver, "nvgrace_gpu_vfio_pci");
  EXPECT_EQ(*gpus->at(2).driver, "nova_core") << "the module's name: that is what a blacklist takes";
}

TEST(PciFunctions, AreToldByTheirKind) {
  const ScratchTree tree;
  tree.pci("0000:01:00.0", "0x10de", "0x1eb8", "0x030200", "nvidia");
  tree.pci("0000:01:00.1", "0x10de", "0x10f8", "0x040300", "snd_hda_intel");
  tree.pci("0000:01:00.2", "0x10de", "0x1ad8", "0x0c0330", "xhci_hcd");
  tree.pci("0000:01:00.3", "0x10de", "0x1ad9", "0x0c8000", "nvidia-gpu");
  tree.pci("0000:01:00.4", "0x10de", "0x1eb8", "0x030200");
  tree.link("/sys/bus/pci/devices/0000:01:00.4/physfn", "../0000:01:00.0");
  tree.pci("0000:02:00.0", "0x10de", "0x1ac2", "0x068000");
  tree.pci("0000:03:00.0", "0x10de", "0x1af1", "0x068000");
  tree.pci("0000:04:00.0", "0x10de", "0x22a3", "0x068000", "nvidia-nvswitch");
  tree.pci("0000:05:00.0", "0x10de", "0x0369", "0x068000");  // an nForce chipset
  tree.pci("0004:00:00.0", "0x10de", "0x22ce", "0x060400", "pcieport");
  tree.pci("0005:00:00.0", "0x10de", "0x0001", "0x120000");
  tree.pci("0000:00:00.0", "0x8086", "0x1237", "0x060000");
  const auto functions = pci_of(tree).functions;
  ASSERT_TRUE(functions.is_known());
  const std::vector<PciFunction> expected{
      {"0000:01:00.1", 0x10f8, FunctionKind::Audio},    {"0000:01:00.2", 0x1ad8, FunctionKind::Usb},
      {"0000:01:00.3", 0x1ad9, FunctionKind::UsbTypeC}, {"0000:01:00.4", 0x1eb8, FunctionKind::VirtualFunction},
      {"0000:02:00.0", 0x1ac2, FunctionKind::NvSwitch}, {"0000:03:00.0", 0x1af1, FunctionKind::NvSwitch},
      {"0000:04:00.0", 0x22a3, FunctionKind::NvSwitch}, {"0000:05:00.0", 0x0369, FunctionKind::Bridge},
      {"0004:00:00.0", 0x22ce, FunctionKind::Bridge},   {"0005:00:00.0", 0x0001, FunctionKind::Other},
  };
  EXPECT_EQ(*functions, expected);
}

TEST(PciFunctions, ThatCanNotBeReadLeaveTheGpusKnown) {
  const ScratchTree tree;
  tree.pci("0000:01:00.0", "0x10de", "0x1eb8", "0x030200", "nvidia");
  tree.pci("0000:01:00.1", "0x10de", "junk", "0x040300");
  const PciDevices devices = pci_of(tree);
  EXPECT_EQ(devices.gpus->size(), 1U);
  ASSERT_TRUE(devices.functions.is_unknown());
  EXPECT_EQ(devices.functions.why().code, ErrorCode::Malformed);
}

TEST(PciFunctions, BeyondTheirLimitLeaveTheGpusKnown) {
  const ScratchTree tree;
  tree.pci("0000:01:00.0", "0x10de", "0x1eb8", "0x030200", "nvidia");
  for (std::size_t index = 0; index <= kMaxPciFunctions; ++index) {
    tree.pci("vf" + std::to_string(index), "0x10de", "0x1eb8", "0x060400");
  }
  const PciDevices devices = pci_of(tree);
  EXPECT_TRUE(devices.gpus.is_known());
  EXPECT_EQ(devices.functions.why().code, ErrorCode::TooLarge);
}

TEST(Gpus, BeyondTheLimitAreUnknown) {
  const ScratchTree tree;
  for (std::size_t index = 0; index <= Snapshot::kMaxGpus; ++index) {
    tree.pci("gpu" + std::to_string(index), "0x10de", "0x20b0", "0x030200");
  }
  EXPECT_EQ(gpus_of(tree).why().code, ErrorCode::TooLarge);
}

TEST(PciCache, SparesOtherMakersDevicesASecondLook) {
  const ScratchTree tree;
  tree.pci("0000:00:00.0", "0x8086", "0x1237", "0x060000");
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200");
  PciCache cache;
  EXPECT_EQ(read_pci(tree.root(), cache).gpus->size(), 1U);
  tree.write("/sys/bus/pci/devices/0000:00:00.0/vendor", "never read");
  tree.remove("/sys/bus/pci/devices/0000:3b:00.0");
  EXPECT_TRUE(read_pci(tree.root(), cache).gpus->empty());
}

TEST(PciCache, LooksAgainAtAnAddressThatAnotherDeviceHasTaken) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x8086", "0x1237", "0x060000");
  PciCache cache;
  EXPECT_TRUE(read_pci(tree.root(), cache).gpus->empty());
  // Moved, not removed: another file system than sysfs would give the same inode number again.
  std::filesystem::rename(tree.path() / "sys/bus/pci/devices/0000:3b:00.0", tree.path() / "sys/bus/gone");
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200");
  EXPECT_EQ(read_pci(tree.root(), cache).gpus->size(), 1U);
}

}  // namespace
}  // namespace gpuskew
