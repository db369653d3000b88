// Case 114: what fabric manager says is enough, whatever the branch.

#include <string>

#include <gtest/gtest.h>

#include "case_files.h"
#include "tests/unit/core/verdicts.h"

namespace gpuskew::testing {
namespace {

std::string version_behind(const std::string& text, const std::string& words) {
  const std::size_t begin = text.find(words) + words.size();
  std::string version = text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
  while (version.ends_with('.')) {
    version.pop_back();
  }
  return version;
}

TEST(Case114FabricManagerMismatch, IsFoundThoughNvmlAndTheKubeletAreFine) {
  for (const char* file : {"journal.txt", "journal.2.txt"}) {
    const std::string line = test::case_file("114-fabric-manager-mismatch", file);
    KernelLogEvent event;
    event.kind = KernelLogKind::FabricManagerVersion;
    event.theirs = version_behind(line, "interface version ");
    event.ours = version_behind(line, "driver version ");
    event.text = line;
    Snapshot s = healthy_node();
    s.loaded_driver = known(driver(event.ours));
    s.libraries = known(std::vector<Library>{library(event.ours)});
    s.kernel_log = known(std::vector{event}, "journal");
    const Verdict verdict = verdict_of(s);
    EXPECT_EQ(verdict.state, NodeState::Broken);
    const Finding* finding = find(verdict, FindingCode::FabricManagerMismatch);
    ASSERT_NE(finding, nullptr);
    EXPECT_TRUE(tells(*finding, event.theirs));
    EXPECT_TRUE(tells(*finding, event.ours));
    EXPECT_NE(finding->consequences.front().find("802"), std::string::npos);
    EXPECT_NE(finding->consequences.back().find("nvidia-smi works"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpuskew::testing
