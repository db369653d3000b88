#include "core/kernel_log_line.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using Kind = KernelLogKind;

struct Wording {
  const char* name;
  std::string line;
  LogLine says;
};

class WordingTest : public ::testing::TestWithParam<Wording> {};

TEST_P(WordingTest, NamesItsCause) {
  const auto said = classify_line(LogSource::Kernel, GetParam().line);
  ASSERT_TRUE(said);
  EXPECT_EQ(to_string(said->kind), to_string(GetParam().says.kind));
  EXPECT_EQ(*said, GetParam().says);
  EXPECT_TRUE(is_of_interest(LogSource::Kernel, GetParam().line));
}

INSTANTIATE_TEST_SUITE_P(
    Kernel, WordingTest,
    ::testing::Values(
        Wording{"Xid79",
                "NVRM: Xid (PCI:0000:98:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                {Kind::FellOffBus, "0000:98:00.0", 79}},
        Wording{"FellOffBus",
                "NVRM: GPU 0000:98:00.0: GPU has fallen off the bus.",
                {Kind::FellOffBus, "0000:98:00.0", 79}},
        Wording{"Xid31",
                "NVRM: Xid (PCI:0000:00:06): 31, pid=79749, name=exe, Ch 0000000a, intr 00000000. MMU Fault",
                {Kind::Xid, "0000:00:06.0", 31}},
        Wording{"XidOfMig", "NVRM: Xid (PCI:0000:0F:00 GPU-I:05): 43, pid=1, name=a", {Kind::Xid, "0000:0f:00.0", 43}},
        Wording{"XidOfOldBranches", "NVRM: Xid (0000:03:00): 14, Channel 00000001", {Kind::Xid, "0000:03:00.0", 14}},
        Wording{"XidOfABigMachine", "NVRM: Xid (PCI:10008:01:00): 119, Timeout", {Kind::Xid, "10008:01:00.0", 119}},
        Wording{"SXid",
                "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress error (First)",
                {Kind::SXid, "0000:05:00.0", 12028}},
        Wording{"RmInitAdapter",
                "NVRM: GPU 0000:98:00.0: RmInitAdapter failed! (0x62:0x65:1792)",
                {Kind::InitFailed, "0000:98:00.0"}},
        Wording{"RmInitAdapterOld", "NVRM: RmInitAdapter failed! (0x26:0xffff:1227)", {Kind::InitFailed}},
        Wording{"DeviceMinor",
                "NVRM: GPU 0000:98:00.0: rm_init_adapter failed, device minor number 0",
                {Kind::InitFailed, "0000:98:00.0"}},
        Wording{"Gsp", "NVRM: GPU6 RmInitAdapter: Cannot initialize GSP firmware RM", {Kind::GspFailed}},
        Wording{"GspOf520", "NVRM kgspInitRm_IMPL: cannot bootstrap riscv/gsp: 0x65", {Kind::GspFailed}},
        Wording{"GspWpr2",
                "NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
                {Kind::GspFailed}},
        Wording{"GfwBoot",
                "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
                {Kind::GspFailed}},
        Wording{"Loading",
                "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.105.08  Wed Oct 29 23:15:11 UTC 2025",
                {Kind::DriverLoaded, "", 0, "580.105.08"}},
        Wording{"LoadingOpen",
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U16)",
                {Kind::DriverLoaded, "", 0, "570.124.06"}},
        Wording{"Probe", "nvidia: probe of 0000:af:00.0 failed with error -1", {Kind::ProbeFailed, "0000:af:00.0"}},
        Wording{"ProbeSince611",
                "nvidia 0000:3c:00.0: probe with driver nvidia failed with error -1",
                {Kind::ProbeFailed, "0000:3c:00.0"}},
        Wording{"NotCalled", "NVRM: The NVIDIA probe routine was not called for 1 device(s).", {Kind::OtherDriver}},
        Wording{"Taint",
                "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
                {Kind::UnsignedTaint}},
        Wording{"Unsigned", "Loading of unsigned module is rejected", {Kind::KeyRejected}},
        Wording{"UnknownKey", "Loading of module with unavailable key is rejected", {Kind::KeyRejected}},
        Wording{"UnknownCrypto", "Loading of module with unsupported crypto is rejected", {Kind::KeyRejected}},
        Wording{"Lockdown",
                "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
                {Kind::Lockdown}},
        Wording{"LockdownOf418",
                "Lockdown: Loading of module with unavailable key is restricted; see man kernel_lockdown.7",
                {Kind::Lockdown}},
        Wording{"Magic",
                "nvidia: version magic '5.4.18-100.fc30.x86_64 SMP mod_unload ' should be '5.4.18-200.fc31.x86_64 SMP "
                "mod_unload '",
                {Kind::VersionMagic, "", 0, "5.4.18-200.fc31.x86_64 SMP mod_unload",
                 "5.4.18-100.fc30.x86_64 SMP mod_unload"}},
        Wording{
            "SectionSize",
            "module nvidia: .gnu.linkonce.this_module section size must match the kernel's built struct module size",
            {Kind::VersionMagic}},
        Wording{"Symbol", "nvidia: Unknown symbol drm_gem_object_free (err -2)", {Kind::UnknownSymbol}},
        Wording{"SymbolVersion", "nvidia_352: disagrees about version of symbol module_layout", {Kind::UnknownSymbol}},
        Wording{"HungTask", "INFO: task nvidia-smi:123 blocked for more than 120 seconds.", {Kind::KernelTrace}}),
    [](const auto& wording) { return wording.param.name; });

TEST(ClassifyLineTest, KnowsFabricManagersTwoVersions) {
  const auto said =
      classify_line(LogSource::FabricManager,
                    "fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver "
                    "version 530.41.03. Please update with matching NVIDIA driver package.");
  EXPECT_EQ(said, (LogLine{Kind::FabricManagerVersion, "", 0, "530.41.03", "530.30.02"}));
  EXPECT_FALSE(classify_line(LogSource::FabricManager, "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus."));
}

TEST(ClassifyLineTest, TakesNothingFromLinesOfOthers) {
  const std::vector<std::string> others{
      "",
      "pci 0000:3b:00.0: quirk_nvidia_hda_pm+0x0/0x60 took 12000 usecs",
      "nvidia_drm: loading out-of-tree module taints kernel.",
      "nvidia: loading out-of-tree module taints kernel.",
      "nvidia: module license 'NVIDIA' taints kernel.",
      "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -2)",
      "zfs: version magic '5.4.18' should be '5.4.19'",
      "zfs: module verification failed: signature and/or required key missing - tainting kernel",
      "PKCS#7 signature not signed with a trusted key",
      "Lockdown: swapper/0: hibernation is restricted; see man kernel_lockdown.7",
      "NVRM: GPU at PCI:0000:06:00: GPU-604d3abb-43d5-088f-f873-9dc453a081a5",
      "NVRM: GPU 0000:91:00.0: GPU serial number is 1653723052734.",
      "NVRM: Xid (PCI:0000:66:00): abc, pid=2280636",
      "NVRM: Xid (PCI:0000:66:00",
      "NVRM: The NVIDIA probe routine failed for 1 device(s).",
      "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
      "INFO: task jbd2/sda1-8:300 blocked for more than 120 seconds.",
      "mpt3sas 0000:af:00.0: probe with driver mpt3sas failed with error -1",
  };
  for (const std::string& line : others) {
    EXPECT_FALSE(classify_line(LogSource::Kernel, line)) << line;
  }
}

TEST(PciAddressTest, IsWrittenAsSysfsDoes) {
  EXPECT_EQ(pci_address("0000:98:00"), "0000:98:00.0");
  EXPECT_EQ(pci_address("0000:98:00.1: x"), "0000:98:00.1");
  EXPECT_EQ(pci_address("00000000:0A:1F.0"), "0000:0a:1f.0");
  for (const char* none :
       {"", ":", "98:00.0", "0000:9:00.0", "0000:98-00.0", "zzzz:98:00.0", "123456789:98:00.0", "0000:98:0"}) {
    EXPECT_EQ(pci_address(none), "") << none;
  }
}

TEST(VersionAtTest, EndsBeforeTheFullStop) {
  EXPECT_EQ(version_at("530.41.03. Please"), "530.41.03");
  EXPECT_EQ(version_at("460.56, but"), "460.56");
  EXPECT_EQ(version_at("550"), "");
  EXPECT_EQ(version_at(".5"), "");
  EXPECT_EQ(version_at("x1.2"), "");
}

}  // namespace
}  // namespace gpuskew
