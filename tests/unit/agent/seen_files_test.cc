#include "agent/probes/seen_files.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

TEST(SeenFiles, AreTheSameUntilOneOfThemChanges) {
  const ScratchTree tree;
  tree.write("/etc/a", "one");
  tree.directory("/etc/d");
  const HostRoot root = tree.root();
  SeenFiles seen;
  EXPECT_EQ(*seen.read(root, "/etc/a", 10), "one");
  EXPECT_TRUE(seen.list(root, "/etc/d", 10)->empty());
  EXPECT_EQ(seen.status(root, "/etc/b").error().code, ErrorCode::NotFound);
  EXPECT_TRUE(seen.same(root));
  EXPECT_TRUE(seen.known("/etc/a").has_value());
  EXPECT_FALSE(seen.known("/etc/b").has_value());

  tree.write("/etc/a", "other");
  EXPECT_FALSE(seen.same(root));
}

TEST(SeenFiles, ChangeWhenWhatWasNotThereComes) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  SeenFiles seen;
  EXPECT_FALSE(seen.read(root, "/etc/a", 10));
  EXPECT_TRUE(seen.same(root));
  tree.write("/etc/a", "one");
  EXPECT_FALSE(seen.same(root));
}

TEST(SeenFiles, AreNeverTheSameWhereOneCanNotBeLookedAt) {
  const ScratchTree tree;
  tree.broken("/etc/a");
  SeenFiles seen;
  EXPECT_FALSE(seen.read(tree.root(), "/etc/a", 10));
  EXPECT_FALSE(seen.same(tree.root()));
}

TEST(SeenFiles, HaveALimit) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  SeenFiles seen;
  for (std::size_t at = 0; at < SeenFiles::kMaxFiles; ++at) {
    EXPECT_EQ(seen.status(root, "/" + std::to_string(at)).error().code, ErrorCode::NotFound);
  }
  EXPECT_EQ(seen.status(root, "/more").error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
