#include "agent/open_beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/host_file.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

HostFile directory_of(const ScratchTree& tree) {
  return HostFile(::open(tree.path().c_str(), O_PATH | O_DIRECTORY), "root");
}

/// "" for what can not be opened; else what tells one place from another.
std::string place_of(const HostFile& root, const std::string& path, PathWalk walk) {
  const HostFile file(open_beneath(root.descriptor(), path, O_PATH, walk), path);
  struct stat status {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0) {
    return "";
  }
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

RC_GTEST_PROP(OpenBeneath, ResolvesEveryPathAsTheKernelDoes, ()) {
  static const ScratchTree tree;
  static const bool is_made = [] {
    tree.write("/a/b/file", "x");
    tree.write("/file", "y");
    tree.link("/a/up", "..");
    tree.link("/a/out", "../../../..");
    tree.link("/a/absolute", "/a/b");
    tree.link("/a/b/far", "../up/a/./absolute/");
    tree.link("/a/dangling", "nowhere");
    tree.link("/loop", "loop");
    return true;
  }();
  RC_ASSERT(is_made);
  const HostFile root = directory_of(tree);
  const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "b", "file", "..", ".", "up", "out", "absolute", "far", "dangling", "loop", ""));
  std::string path;
  for (const std::string& name : names) {
    path += "/" + name;
  }
  if (path.empty()) {
    path = "/";
  }
  RC_ASSERT(place_of(root, path, PathWalk::OwnWalk) == place_of(root, path, PathWalk::Kernel));
}

TEST(OpenBeneath, RefusesALoopAndADoorOfProcfs) {
  const ScratchTree tree;
  tree.link("/loop", "loop");
  const HostFile root = directory_of(tree);
  EXPECT_EQ(open_beneath(root.descriptor(), "/loop", O_PATH, PathWalk::OwnWalk), -1);
  EXPECT_EQ(errno, ELOOP);
  const HostFile slash(::open("/", O_PATH | O_DIRECTORY), "/");
  for (const char* door : {"/proc/self/root/etc", "/proc/self/fd/0", "/proc/self/exe"}) {
    EXPECT_EQ(open_beneath(slash.descriptor(), door, O_PATH, PathWalk::OwnWalk), -1) << door;
    EXPECT_EQ(errno, ELOOP) << door;
  }
}

TEST(OpenBeneath, FollowsTheLinksOfProcfsThatArePaths) {
  const HostFile slash(::open("/", O_PATH | O_DIRECTORY), "/");
  const HostFile mounts(open_beneath(slash.descriptor(), "/proc/mounts", O_RDONLY, PathWalk::OwnWalk), "mounts");
  EXPECT_GE(mounts.descriptor(), 0);
}

TEST(OpenBeneath, GoesOnlyAsDeepAsItsLimit) {
  const ScratchTree tree;
  std::string path;
  for (std::size_t depth = 0; depth <= kMaxWalkDepth + 1; ++depth) {
    path += "/d";
  }
  tree.directory(path);
  const HostFile root = directory_of(tree);
  EXPECT_EQ(open_beneath(root.descriptor(), path, O_PATH, PathWalk::OwnWalk), -1);
  EXPECT_EQ(errno, ENAMETOOLONG);
}

}  // namespace
}  // namespace gpuskew
