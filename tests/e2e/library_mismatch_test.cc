// A package upgrade replaced the libraries under a loaded module. Whether a reboot helps depends on the module on disk.

#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

constexpr std::string_view kCode = "driver-library-mismatch";
constexpr std::string_view kLoaded = "535.183.01";
constexpr std::string_view kLibrary = "535.183.06";

// The version inside the module file, as a rebuild by dkms would set it.
void set_module_version(const HostTree& tree, std::string_view version) {
  bool found = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tree.path() / "lib/modules")) {
    if (entry.path().filename() != "nvidia.ko") {
      continue;
    }
    std::string content = read_file(entry.path());
    const std::size_t at = content.find("version=535.183.");
    ASSERT_NE(at, std::string::npos) << entry.path();
    content.replace(at + std::string_view("version=").size(), version.size(), version);
    write_file(entry.path(), content);
    found = true;
  }
  ASSERT_TRUE(found) << "no nvidia.ko in the fixture";
}

class LibraryMismatch : public testing::Test {
 protected:
  nlohmann::json reported() {
    stack_.start_aggregator();
    stack_.report_once(Stack::kNode, tree_);
    return stack_.finding(kCode);
  }

  Stack stack_;
  HostTree tree_{kMismatch, stack_.directory() / "host"};
};

TEST_F(LibraryMismatch, NamesBothVersions) {
  const nlohmann::json finding = reported();
  ASSERT_FALSE(finding.is_null());
  EXPECT_EQ(finding.at("severity"), "critical");
  const auto cause = finding.at("cause").get<std::string>();
  EXPECT_NE(cause.find(kLoaded), std::string::npos) << cause;
  EXPECT_NE(cause.find(kLibrary), std::string::npos) << cause;
}

TEST_F(LibraryMismatch, ARebootHelpsWhenTheModuleOnDiskIsTheLibrarys) {
  set_module_version(tree_, kLibrary);
  const nlohmann::json finding = reported();
  ASSERT_FALSE(finding.is_null());
  EXPECT_EQ(finding.at("reboot_helps"), "yes");
  EXPECT_NE(finding.at("reboot_why").get<std::string>().find(kLibrary), std::string::npos) << finding;
}

TEST_F(LibraryMismatch, ARebootDoesNotHelpWhileTheModuleOnDiskIsTheOldOne) {
  set_module_version(tree_, kLoaded);
  const nlohmann::json finding = reported();
  ASSERT_FALSE(finding.is_null());
  EXPECT_EQ(finding.at("reboot_helps"), "no");
  EXPECT_NE(finding.at("reboot_why").get<std::string>().find(kLoaded), std::string::npos) << finding;
}

TEST_F(LibraryMismatch, ARebootDoesNotHelpWhenThereIsNoModuleOnDisk) {
  tree_.remove("lib/modules");
  std::filesystem::create_directories(tree_.path() / "lib/modules");
  const nlohmann::json finding = reported();
  ASSERT_FALSE(finding.is_null());
  EXPECT_NE(finding.at("reboot_helps"), "yes");
  const Outcome explained = stack_.gpuskew({"explain", std::string(Stack::kNode)});
  EXPECT_EQ(explained.code, 1) << explained.err;
}

}  // namespace
}  // namespace gpuskew
