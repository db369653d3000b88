#include "agent/probes/containerd_files.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kMain = "/etc/containerd/config.toml";

Result<std::vector<ContainerdFile>> files_of(const ScratchTree& tree,
                                             ContainerdRules rules = ContainerdRules::MigrateMerged) {
  SeenFiles seen;
  return read_containerd_files(tree.root(), kMain, rules, seen);
}

std::vector<std::string> paths_of(const ScratchTree& tree, ContainerdRules rules = ContainerdRules::MigrateMerged) {
  std::vector<std::string> paths;
  const auto files = files_of(tree, rules);
  EXPECT_TRUE(files) << files.error().what;
  for (const ContainerdFile& file : files ? *files : std::vector<ContainerdFile>()) {
    paths.push_back(file.path);
  }
  return paths;
}

TEST(ContainerdFiles, ComeBreadthFirstAndEachOnce) {
  const ScratchTree tree;
  tree.write(kMain, "version = 2\nimports = ['one.toml', '/etc/containerd/conf.d/*.toml', '../x/y/../two.toml']\n");
  tree.write("/etc/containerd/one.toml", "imports = ['conf.d/b.toml', '/etc/containerd/config.toml', 'three.toml']\n");
  tree.write("/etc/containerd/conf.d/b.toml", "");
  tree.write("/etc/containerd/conf.d/a.toml", "");
  tree.write("/etc/containerd/conf.d/note.txt", "no TOML at all");
  tree.write("/etc/x/two.toml", "");
  tree.write("/etc/containerd/three.toml", "");
  EXPECT_EQ(paths_of(tree), (std::vector<std::string>{kMain, "/etc/containerd/one.toml",
                                                      "/etc/containerd/conf.d/a.toml", "/etc/containerd/conf.d/b.toml",
                                                      "/etc/x/two.toml", "/etc/containerd/three.toml"}));
}

TEST(ContainerdFiles, TakeRelativePatternsFromTheRootBeforeLate17) {
  const ScratchTree tree;
  tree.write(kMain, "imports = ['conf.d/*.toml', 'plain.toml']\n");
  tree.write("/etc/containerd/conf.d/a.toml", "");
  tree.write("/conf.d/b.toml", "");
  tree.write("/etc/containerd/plain.toml", "");
  EXPECT_EQ(paths_of(tree, ContainerdRules::Replace)[1], "/etc/containerd/conf.d/a.toml");
  EXPECT_EQ(paths_of(tree, ContainerdRules::ReplaceAnyVersion),
            (std::vector<std::string>{kMain, "/conf.d/b.toml", "/etc/containerd/plain.toml"}));
}

TEST(ContainerdFiles, MayMatchNothingByAPatternButNotMissAPlainImport) {
  const ScratchTree tree;
  tree.write(kMain, "imports = ['/gone/*.toml', '/etc/containerd/config.toml/*.toml']\n");
  EXPECT_EQ(paths_of(tree).size(), 1U);
  tree.write(kMain, "imports = ['/gone/one.toml']\n");
  const auto files = files_of(tree);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::Malformed);
  EXPECT_TRUE(files.error().what.starts_with("/etc/containerd/config.toml imports '/gone/one.toml': "))
      << files.error().what;
}

TEST(ContainerdFiles, AreNotFoundOnlyWhereTheMainFileIsNotThere) {
  const ScratchTree tree;
  EXPECT_EQ(files_of(tree).error().code, ErrorCode::NotFound);
}

TEST(ContainerdFiles, NameFileAndLineOfWhatIsNotWhatContainerdTakes) {
  const ScratchTree tree;
  tree.write(kMain, "\nversion = 'two'\n");
  EXPECT_EQ(files_of(tree).error().what, "/etc/containerd/config.toml:2: version is not a version number");
  tree.write(kMain, "imports = 'conf.d/*.toml'\n");
  EXPECT_EQ(files_of(tree).error().what, "/etc/containerd/config.toml:1: imports is not a list of texts");
  tree.write(kMain, "plugins = 1\n");
  EXPECT_EQ(files_of(tree).error().what, "/etc/containerd/config.toml:1: plugins is not a table");
  tree.write(kMain, "imports = ['conf.d/*.toml']\n");
  tree.write("/etc/containerd/conf.d/a.toml", "a = 1\nb = = 1\n");
  EXPECT_TRUE(
      files_of(tree).error().what.starts_with("/etc/containerd/config.toml imports "
                                              "'/etc/containerd/conf.d/a.toml': /etc/containerd/conf.d/a.toml:2: "))
      << files_of(tree).error().what;
}

TEST(ContainerdFiles, AreUnknownWhereOneCanNotBeReadOrIsNoFile) {
  const ScratchTree tree;
  tree.write(kMain, "imports = ['/etc/containerd/conf.d/*']\n");
  tree.directory("/etc/containerd/conf.d/directory.toml");
  EXPECT_EQ(files_of(tree).error().code, ErrorCode::Malformed);
  tree.remove("/etc/containerd/conf.d/directory.toml");
  tree.fifo("/etc/containerd/conf.d/fifo.toml");
  EXPECT_EQ(files_of(tree).error().code, ErrorCode::Malformed);
  tree.remove("/etc/containerd/conf.d/fifo.toml");
  tree.write("/etc/containerd/conf.d/large.toml", std::string(1u << 20, '\n'));
  EXPECT_EQ(files_of(tree).error().code, ErrorCode::TooLarge);
  tree.remove("/etc/containerd/conf.d/large.toml");
  // A link that leads nowhere is not there for the pattern; one to itself can not be read.
  tree.link("/etc/containerd/conf.d/dangling.toml", "/nowhere");
  EXPECT_TRUE(files_of(tree));
  tree.broken("/etc/containerd/conf.d/loop.toml");
  EXPECT_FALSE(files_of(tree));
}

TEST(ContainerdFiles, FollowAbsoluteLinksInsideTheRoot) {
  const ScratchTree tree;
  tree.write("/opt/real.toml", "version = 3\n");
  tree.link(kMain, "/opt/real.toml");
  EXPECT_EQ(files_of(tree)->front().version, 3U);
}

TEST(ContainerdFiles, HaveALimit) {
  const ScratchTree tree;
  tree.write(kMain, "imports = ['many/*']\n");
  for (std::size_t at = 0; at < kMaxContainerdFiles; ++at) {
    tree.write("/etc/containerd/many/" + std::to_string(at), "");
  }
  EXPECT_EQ(files_of(tree).error().code, ErrorCode::TooLarge);
  tree.write(kMain, "imports = ['*a*a*a*a*a*a*a*a*a*b']\n");
  EXPECT_EQ(files_of(tree).error().code, ErrorCode::TooLarge);
}

TEST(MatchingPaths, AreThoseOfAPatternInAnyPart) {
  const ScratchTree tree;
  tree.write("/etc/a.d/1.toml", "");
  tree.write("/etc/b.d/2.toml", "");
  tree.write("/etc/b.d/.hidden.toml", "");
  tree.write("/etc/b/3.toml", "");
  SeenFiles seen;
  EXPECT_EQ(*matching_paths(tree.root(), "/etc/*.d/*.toml", seen),
            (std::vector<std::string>{"/etc/a.d/1.toml", "/etc/b.d/.hidden.toml", "/etc/b.d/2.toml"}));
  EXPECT_EQ(*matching_paths(tree.root(), "/etc/?.d/[12].toml", seen),
            (std::vector<std::string>{"/etc/a.d/1.toml", "/etc/b.d/2.toml"}));
  EXPECT_EQ(*matching_paths(tree.root(), "/etc/b/3.toml", seen), std::vector<std::string>{"/etc/b/3.toml"});
  EXPECT_TRUE(matching_paths(tree.root(), "/gone/*/x", seen)->empty());
}

}  // namespace
}  // namespace gpuskew
