#include "case_files.h"
#include "core/label.h"

namespace gpuskew::test {
namespace {

constexpr const char* kFile = "proc_driver_nvidia_version";

NvrmVersion nvrm_of(const std::string& folder) {
  return parse_nvrm_version(case_file(folder, kFile)).value();
}

void expect_driver(const NvrmVersion& nvrm, const std::string& version, const std::string& branch,
                   ModuleFlavour flavour, const std::string& architecture) {
  ASSERT_TRUE(nvrm.version) << nvrm.version.error().what;
  EXPECT_EQ(nvrm.version->text(), version);
  EXPECT_EQ(nvrm.version->branch(), branch);
  EXPECT_EQ(nvrm.flavour, flavour);
  EXPECT_EQ(nvrm.architecture, architecture);
  EXPECT_EQ(nvrm.l4t_release, std::nullopt);
}

void expect_labels(const NvrmVersion& nvrm, const std::string& full, const std::string& major, const std::string& minor,
                   const std::string& revision) {
  const Labels labels = driver_labels(nvrm.version.value());
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver-version.full"), full);
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver-version.major"), major);
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver-version.minor"), minor);
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver-version.revision"), revision);
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver.rev"), revision);
}

TEST(CasesProcVersion, Case001KeepsTheLeadingZeroOfTheRevision) {
  const NvrmVersion nvrm = nvrm_of("001-proprietary-x86-three-part");
  expect_driver(nvrm, "520.56.06", "520", ModuleFlavour::Proprietary, "x86_64");
  expect_labels(nvrm, "520.56.06", "520", "56", "06");
}

TEST(CasesProcVersion, Case001IsNotFooledByTheCompilerLineStandingFirst) {
  const std::string file = case_file("001-proprietary-x86-three-part", kFile);
  const auto second_line = file.find("GCC");
  const auto swapped = parse_nvrm_version(file.substr(second_line) + file.substr(0, second_line));
  EXPECT_EQ(swapped.value().version.value().text(), "520.56.06");
}

TEST(CasesProcVersion, Case003ReadsALineWithoutADate) {
  const NvrmVersion nvrm = nvrm_of("003-open-no-date-trailing-blanks");
  expect_driver(nvrm, "525.60.11", "525", ModuleFlavour::Open, "x86_64");
  expect_labels(nvrm, "525.60.11", "525", "60", "11");
}

TEST(CasesProcVersion, Case005ReadsTwoPartsBesideACyrillicDate) {
  const NvrmVersion nvrm = nvrm_of("005-open-cyrillic-date-two-part");
  expect_driver(nvrm, "555.58", "555", ModuleFlavour::Open, "x86_64");
  expect_labels(nvrm, "555.58", "555", "58", "");
}

TEST(CasesProcVersion, Case006ReadsArm) {
  const NvrmVersion nvrm = nvrm_of("006-aarch64-open-gb300");
  expect_driver(nvrm, "580.173.02", "580", ModuleFlavour::Open, "aarch64");
  expect_labels(nvrm, "580.173.02", "580", "173", "02");
}

TEST(CasesProcVersion, Case008ReadsThe32BitModule) {
  expect_driver(nvrm_of("008-legacy-x86-32bit"), "173.14.05", "173", ModuleFlavour::Proprietary, "x86");
}

TEST(CasesProcVersion, Case010NeverTakesAPrefixForTheVersion) {
  const NvrmVersion nvrm = nvrm_of("010-truncated-version-token");
  EXPECT_EQ(nvrm.flavour, ModuleFlavour::Open);
  EXPECT_EQ(nvrm.architecture, "aarch64");
  ASSERT_FALSE(nvrm.version);
  EXPECT_EQ(nvrm.version.error().code, ErrorCode::Malformed);
  EXPECT_EQ(nvrm.version.error().what, "the NVRM line is cut inside the version, at '59'");
}

TEST(CasesProcVersion, Case011TellsAnL4tReleaseFromADriver) {
  const NvrmVersion nvrm = nvrm_of("011-jetson-l4t-number-not-driver");
  EXPECT_EQ(nvrm.l4t_release, "35.3.1");
  ASSERT_FALSE(nvrm.version);
  EXPECT_EQ(nvrm.version.error().code, ErrorCode::Unsupported);
}

TEST(CasesProcVersion, Case011ComputesNoTagForIt) {
  const NvrmVersion nvrm = nvrm_of("011-jetson-l4t-number-not-driver");
  const auto driver = Fact<DriverVersion>::from(nvrm.version, kFile);
  const auto tag = compute_tag(driver, known(KernelRelease::parse("5.10.104-tegra").value()),
                               known(OsIdentity{"ubuntu", "20.04", "", "", "", ""}), {});
  ASSERT_FALSE(tag);
  EXPECT_EQ(tag.error().what,
            "no tag: driver version is unknown, because '35.3.1' is a Jetson (Tegra) number, not a driver version");
}

// 013 (no /proc file at all) is a matter of the agent's probes; what its container tool prints is no version.
TEST(CasesProcVersion, Case013TakesNullForNoVersion) {
  const auto nvrm = parse_nvrm_version(case_file("013-tegra-no-proc-file", "nvidia-container-cli-info.txt"));
  ASSERT_FALSE(nvrm);
  EXPECT_EQ(nvrm.error().what, "the NVRM line names no NVIDIA UNIX module: '(null)'");
}

TEST(CasesProcVersion, Case015SpellingsOfOneVersionAreOneDriver) {
  const std::string folder = "015-leading-zero-numeric-api";
  const std::string module_line = case_file(folder, "sys_module_nvidia_version");
  const std::string other_line = case_file(folder, "other_source.txt");
  const std::string library_line = case_file(folder, "userspace_library.txt");
  const auto last_word = [](std::string line, const std::string& before) {
    line.erase(line.find_last_not_of('\n') + 1);
    return DriverVersion::parse(line.substr(line.rfind(before) + before.size())).value();
  };
  const DriverVersion module = DriverVersion::parse(module_line.substr(0, module_line.find('\n'))).value();
  const DriverVersion ioctl = last_word(other_line, ": ");
  const DriverVersion library = last_word(library_line, ".so.");
  EXPECT_EQ(ioctl.text(), "570.133.7");
  EXPECT_EQ(module, ioctl);
  EXPECT_EQ(module, library);
  EXPECT_EQ(fuller_spelling(ioctl, module).text(), "570.133.07");
  EXPECT_EQ(driver_labels(fuller_spelling(ioctl, module)).at("nvidia.com/cuda.driver-version.full"), "570.133.07");
}

// That the file is called nvidia_352 is for the agent's probe of /lib/modules.
TEST(CasesProcVersion, Case016ReadsTheOldModulesVersion) {
  const std::string modinfo = case_file("016-module-file-named-nvidia-352", "modinfo.txt");
  const auto last_line = modinfo.rfind("352.63");
  ASSERT_NE(last_line, std::string::npos);
  const DriverVersion version = DriverVersion::parse(modinfo.substr(last_line, 6)).value();
  EXPECT_EQ(version.branch(), "352");
  EXPECT_EQ(version.revision_text(), "");
}

}  // namespace
}  // namespace gpuskew::test
