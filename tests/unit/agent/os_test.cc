#include "agent/probes/os.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

TEST(Os, PrefersEtcAndNeverMergesTheTwo) {
  const ScratchTree tree;
  tree.write("/etc/os-release", "ID=ubuntu\n");
  tree.write("/usr/lib/os-release", "ID=debian\nVERSION_ID=12\n");
  const auto fact = read_os(tree.root());
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(fact->id, "ubuntu");
  EXPECT_EQ(fact->version_id, std::nullopt);
  EXPECT_EQ(fact.source(), "/etc/os-release");
}

TEST(Os, FallsBackToUsrLib) {
  const ScratchTree tree;
  tree.write("/usr/lib/os-release", "ID=flatcar\nVERSION_ID=3227.2.2\n");
  const auto fact = read_os(tree.root());
  EXPECT_EQ(fact->id, "flatcar");
  EXPECT_EQ(fact.source(), "/usr/lib/os-release");
}

TEST(Os, DoesNotFallBackFromAFileItCouldNotRead) {
  const ScratchTree tree;
  tree.broken("/etc/os-release");
  tree.write("/usr/lib/os-release", "ID=debian\nVERSION_ID=12\n");
  const auto fact = read_os(tree.root());
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.source(), "/etc/os-release");
}

TEST(Os, IsUnknownWhenNeitherFileIsThereOrNoIdIsNamed) {
  const ScratchTree tree;
  EXPECT_EQ(read_os(tree.root()).why().what, "neither /etc/os-release nor /usr/lib/os-release is there");
  tree.write("/etc/os-release", "NAME=\"Something\"\n");
  EXPECT_EQ(read_os(tree.root()).why().code, ErrorCode::Malformed);
  tree.write("/etc/os-release", std::string(1 << 20, '#'));
  EXPECT_EQ(read_os(tree.root()).why().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
