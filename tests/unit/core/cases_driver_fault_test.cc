// Of the driver faults, what version comparison decides; the findings are judge's.

#include "case_files.h"
#include "core/judge.h"
#include "nodes.h"

namespace gpuskew::test {
namespace {

DriverVersion version(std::string_view text) {
  return DriverVersion::parse(text).value();
}

/// The version behind `before`, up to the next blank, comma, dash or line end.
DriverVersion version_after(const std::string& text, const std::string& before) {
  const auto start = text.find(before) + before.size();
  const auto begin = text.find_first_not_of(' ', start);
  return version(std::string_view(text).substr(begin, text.find_first_of(" ,-\n", begin) - begin));
}

TEST(CasesDriverFault, Case092LoadedModuleIsOlderThanTheLibrary) {
  const std::string folder = "092-mismatch-after-apt-minor";
  const NvrmVersion nvrm = parse_nvrm_version(case_file(folder, "proc_driver_nvidia_version")).value();
  const DriverVersion library = version_after(case_file(folder, "userspace_library.txt"), ".so.");
  EXPECT_EQ(nvrm.version.value().branch(), library.branch());
  EXPECT_NE(nvrm.version.value(), library);
  EXPECT_LT(nvrm.version.value(), library) << "550.90.07 is older than 550.107.02, though not in string order";
}

TEST(CasesDriverFault, Case094TwoPartsAreNotPadded) {
  const std::string log = case_file("094-mismatch-unattended-upgrade-running-jobs", "apt_history.log");
  const DriverVersion before = version_after(log, "(");
  const DriverVersion after = version_after(log, ", ");
  EXPECT_EQ(before.text(), "460.56");
  EXPECT_EQ(after.text(), "460.73.01");
  EXPECT_LT(before, after);
  EXPECT_EQ(before.revision_text(), "");
}

TEST(CasesDriverFault, Case096DiskModuleIsOlderThanTheNewLibrary) {
  const std::string folder = "096-mismatch-dkms-left-old-module";
  const DriverVersion disk = version_after(case_file(folder, "modinfo.txt"), "version:");
  EXPECT_EQ(disk.text(), "595.80");
  EXPECT_LT(disk, version("595.84"));
  EXPECT_EQ(case_kernel(folder).text(), "7.0.12-zen1-1-zen");
  EXPECT_EQ(case_kernel(folder).flavour(), "");
}

// A container that lost its devices says the same words as one whose driver is broken; the host knows better.
TEST(CasesDriverFault, Case116AContainersNvmlErrorIsNoFaultOfTheNode) {
  const std::string folder = "116-nvml-unknown-error-in-container";
  const DriverVersion loaded = version_after(case_file(folder, "host.txt"), "NVIDIA-SMI ");
  EXPECT_EQ(loaded.text(), "570.133.20");
  Snapshot node = testing::healthy_node();
  node.loaded_driver = testing::known(loaded);
  node.libraries = testing::known(std::vector<Library>{testing::library(loaded.text())});
  node.gpus = testing::known(std::vector<Gpu>{testing::gpu("0000:17:00.0"), testing::gpu("0000:65:00.0"),
                                              testing::gpu("0000:ca:00.0"), testing::gpu("0000:e3:00.0")});
  const Time now = testing::kLongAfterBoot;
  const Verdict verdict = judge(node, NodeHistory{}, JudgePolicy{}, nullptr, now, now);
  EXPECT_EQ(verdict.state, NodeState::Ok);
  EXPECT_TRUE(verdict.findings.empty());
}

}  // namespace
}  // namespace gpuskew::test
