// The rule of core/rules/module_flavour.cc, through judge().

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/judge.h"
#include "log_lines.h"

namespace gpuskew::testing {
namespace {

Snapshot node_with(int device_id, ModuleFlavour flavour) {
  Snapshot s = healthy_node();
  std::vector<Gpu> gpus = s.gpus.value();
  gpus.resize(1);
  gpus[0].device_id = static_cast<std::uint16_t>(device_id);
  s.gpus = known(gpus);
  s.loaded_flavour = known(flavour);
  s.kernel_log = kernel_log({kLoading});
  return s;
}

Verdict verdict_of(const Snapshot& s) {
  return judge(s, NodeHistory{}, JudgePolicy{}, nullptr, kLongAfterBoot, kLongAfterBoot);
}

bool is_wrong(const Verdict& verdict) {
  return !verdict.findings.empty() && verdict.findings[0].code == FindingCode::WrongModuleFlavour;
}

TEST(ModuleFlavourTest, TheDeviceIdTellsWhichModulesAGpuNeeds) {
  for (const int blackwell_or_gh200 : {0x2901, 0x2941, 0x2bb5, 0x3182, 0x2342, 0x2348}) {
    EXPECT_TRUE(is_wrong(verdict_of(node_with(blackwell_or_gh200, ModuleFlavour::Proprietary)))) << blackwell_or_gh200;
    EXPECT_FALSE(is_wrong(verdict_of(node_with(blackwell_or_gh200, ModuleFlavour::Open)))) << blackwell_or_gh200;
  }
  for (const int volta_or_older : {0x1db5, 0x1b06, 0x15f8}) {
    EXPECT_TRUE(is_wrong(verdict_of(node_with(volta_or_older, ModuleFlavour::Open)))) << volta_or_older;
    EXPECT_FALSE(is_wrong(verdict_of(node_with(volta_or_older, ModuleFlavour::Proprietary)))) << volta_or_older;
  }
  for (const int both : {0x1e02, 0x1eb8, 0x20b0, 0x2330, 0x26b9, 0x28e1}) {
    EXPECT_FALSE(is_wrong(verdict_of(node_with(both, ModuleFlavour::Open)))) << both;
    EXPECT_FALSE(is_wrong(verdict_of(node_with(both, ModuleFlavour::Proprietary)))) << both;
  }
}

TEST(ModuleFlavourTest, AnUnknownFlavourOrIdIsNoFinding) {
  Snapshot s = node_with(0x2bb5, ModuleFlavour::Proprietary);
  s.loaded_flavour = denied<ModuleFlavour>();
  EXPECT_FALSE(is_wrong(verdict_of(s)));
  EXPECT_FALSE(is_wrong(verdict_of(node_with(0, ModuleFlavour::Open))));
}

TEST(ModuleFlavourTest, TheDriverItselfMaySayIt) {
  Snapshot s = node_with(0x2c58, ModuleFlavour::Proprietary);
  s.kernel_log = kernel_log({kLoading,
                             "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:2c58)\nNVRM: installed in this "
                             "system requires use of the NVIDIA open kernel modules."});
  const Verdict verdict = verdict_of(s);
  ASSERT_TRUE(is_wrong(verdict));
  EXPECT_EQ(verdict.findings[0].evidence[0].source, "journal");
  EXPECT_EQ(verdict.findings[0].next_step,
            "ssh gpu-node-1 'sudo apt-get install nvidia-driver-570-open && sudo reboot'");
}

TEST(ModuleFlavourTest, TheOperatorsDriverIsChangedInItsPolicy) {
  Snapshot s = node_with(0x2bb5, ModuleFlavour::Proprietary);
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  s.libraries = absent<std::vector<Library>>();
  const Verdict verdict = verdict_of(s);
  ASSERT_TRUE(is_wrong(verdict));
  EXPECT_NE(verdict.findings[0].next_step.find("\"kernelModuleType\":\"open\""), std::string::npos);
}

TEST(ModuleFlavourTest, GpusOfVirtualMachinesDoNotCount) {
  Snapshot s = node_with(0x2bb5, ModuleFlavour::Proprietary);
  std::vector<Gpu> gpus = s.gpus.value();
  gpus.push_back(gpu("0000:af:00.0"));
  gpus[0].driver = known<std::string>("vfio-pci");
  s.gpus = known(gpus);
  EXPECT_EQ(verdict_of(s).state, NodeState::Ok);
}

}  // namespace
}  // namespace gpuskew::testing
