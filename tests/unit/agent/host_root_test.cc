#include "agent/host_root.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

/// Everything holds for both ways of resolving a path.
class HostRootTest : public ::testing::TestWithParam<PathWalk> {
 protected:
  static HostRoot opened(const std::filesystem::path& path) {
    auto root = HostRoot::open(path, GetParam());
    if (!root) {
      throw std::runtime_error(root.error().what);
    }
    return std::move(*root);
  }
  static HostRoot root_of(const ScratchTree& tree) { return opened(tree.path()); }
};

INSTANTIATE_TEST_SUITE_P(EachWalk, HostRootTest, ::testing::Values(PathWalk::Kernel, PathWalk::OwnWalk),
                         [](const auto& each) { return each.param == PathWalk::Kernel ? "ByTheKernel" : "ByName"; });

TEST_P(HostRootTest, ReadsAFileBeneathTheRoot) {
  const ScratchTree tree;
  tree.write("/etc/hostname", "gpu-01\n");
  const HostRoot root = root_of(tree);
  EXPECT_EQ(root.read("/etc/hostname").value(), "gpu-01\n");
  EXPECT_EQ(root.read_line("/etc/hostname").value(), "gpu-01");
}

TEST_P(HostRootTest, KeepsNulBytesAndAFileWithoutALastNewline) {
  const ScratchTree tree;
  tree.write("/a", std::string_view("x\0y", 3));
  EXPECT_EQ(root_of(tree).read_line("/a").value(), std::string("x\0y", 3));
}

TEST_P(HostRootTest, RefusesToOpenWhatIsNoDirectory) {
  const ScratchTree tree;
  tree.write("/file", "x");
  EXPECT_EQ(HostRoot::open(tree.path() / "missing", GetParam()).error().code, ErrorCode::NotFound);
  const auto file = HostRoot::open(tree.path() / "file", GetParam());
  EXPECT_EQ(file.error().code, ErrorCode::NotFound);
  EXPECT_NE(file.error().what.find("not a directory"), std::string::npos) << file.error().what;
}

TEST_P(HostRootTest, ResolvesAbsoluteLinksInsideTheRoot) {
  const ScratchTree tree;
  tree.write("/usr/lib/os-release", "ID=inside\n");
  tree.link("/etc/os-release", "/usr/lib/os-release");
  EXPECT_EQ(root_of(tree).read("/etc/os-release").value(), "ID=inside\n");
}

TEST_P(HostRootTest, NeverLeavesTheRootByDots) {
  const ScratchTree tree;
  tree.write("/inner/secret", "outer");
  tree.write("/inner/root/file", "x");
  tree.link("/inner/root/escape", "../../inner/secret");
  tree.link("/inner/root/absolute", (tree.path() / "inner/secret").string());
  const HostRoot root = opened(tree.path() / "inner/root");
  EXPECT_EQ(root.read("/escape").error().code, ErrorCode::NotFound);
  EXPECT_EQ(root.read("/../secret").error().code, ErrorCode::NotFound);
  EXPECT_EQ(root.read("/absolute").error().code, ErrorCode::NotFound);
}

TEST_P(HostRootTest, RefusesMagicLinks) {
  const HostRoot root = opened("/");
  const auto read = root.read("/proc/self/root/etc/hostname");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::Malformed) << read.error().what;
}

TEST_P(HostRootTest, NamesThePathAndTheReason) {
  const ScratchTree tree;
  const HostRoot root = root_of(tree);
  EXPECT_EQ(root.read("/sys/module/nvidia/version").error(),
            (Error{ErrorCode::NotFound, "reading /sys/module/nvidia/version: no such file or directory"}));
  tree.write("/file", "x");
  EXPECT_EQ(root.read("/file/below").error().code, ErrorCode::NotFound);
}

TEST_P(HostRootTest, CallsALoopOfLinksMalformed) {
  const ScratchTree tree;
  tree.link("/a", "b");
  tree.link("/b", "a");
  EXPECT_EQ(root_of(tree).read("/a").error().code, ErrorCode::Malformed);
  EXPECT_EQ(root_of(tree).resolve("/a").error().code, ErrorCode::Malformed);
}

TEST_P(HostRootTest, RefusesANulByteInAPath) {
  const ScratchTree tree;
  tree.write("/etc/hostname", "x");
  EXPECT_EQ(root_of(tree).read(std::string_view("/etc/hostname\0junk", 18)).error().code, ErrorCode::Malformed);
}

TEST_P(HostRootTest, StopsAtTheLimitOfAFile) {
  const ScratchTree tree;
  tree.write("/big", std::string(1 << 20, 'x'));
  const HostRoot root = root_of(tree);
  const auto big = root.read("/big");
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error(), (Error{ErrorCode::TooLarge, "reading /big: more than 65536 bytes"}));
  EXPECT_EQ(root.read("/big", 1 << 20).value().size(), std::size_t{1} << 20);
  EXPECT_EQ(root.read("/big", (1 << 20) - 1).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(root.read_line("/big").error().code, ErrorCode::TooLarge);
}

TEST_P(HostRootTest, ReadsProcFilesThatSayTheyAreEmpty) {
  const HostRoot root = opened("/");
  const auto status = root.status("/proc/sys/kernel/osrelease");
  if (!status) {
    GTEST_SKIP() << "no procfs here";
  }
  EXPECT_EQ(status->size, 0U);
  EXPECT_FALSE(root.read("/proc/sys/kernel/osrelease").value().empty());
}

TEST_P(HostRootTest, RefusesFifosSocketsDevicesAndDirectoriesAsFiles) {
  const ScratchTree tree;
  tree.fifo("/fifo");  // with no writer: opening it for reading would block
  tree.directory("/directory");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (tree.path() / "socket").c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const HostRoot root = root_of(tree);
  for (const char* path : {"/fifo", "/directory", "/socket"}) {
    EXPECT_EQ(root.read(path).error(),
              (Error{ErrorCode::Malformed, std::string("reading ") + path + ": not a regular file"}));
    EXPECT_FALSE(root.open_file(path)) << path;
  }
  EXPECT_EQ(opened("/").read("/dev/null").error().code, ErrorCode::Malformed);
  ::close(listener);
}

TEST_P(HostRootTest, SaysDeniedWhenItMayNotLook) {
  const ScratchTree tree;
  tree.write("/closed/file", "x");
  ::chmod((tree.path() / "closed").c_str(), 0700);
  ::chmod(tree.path().c_str(), 0755);
  // Root may look everywhere, so a child looks as somebody else.
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const bool other_user = ::getuid() != 0 ? ::chmod((tree.path() / "closed").c_str(), 0) == 0
                                            : ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
    const auto read = opened(tree.path()).read("/closed/file");
    ::_exit(other_user && !read && read.error().code == ErrorCode::Denied ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::chmod((tree.path() / "closed").c_str(), 0700);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_P(HostRootTest, ListsSortedWithTheKindOfEachEntry) {
  const ScratchTree tree;
  tree.write("/d/file", "x");
  tree.directory("/d/a-directory");
  tree.link("/d/link", "nowhere");
  tree.fifo("/d/pipe");
  const auto entries = root_of(tree).list("/d").value();
  ASSERT_EQ(entries.size(), 4U);
  const std::vector<std::pair<std::string, FileKind>> expected{{"a-directory", FileKind::Directory},
                                                               {"file", FileKind::Regular},
                                                               {"link", FileKind::Link},
                                                               {"pipe", FileKind::Other}};
  for (std::size_t at = 0; at < expected.size(); ++at) {
    EXPECT_EQ(entries[at].name, expected[at].first);
    EXPECT_EQ(entries[at].kind, expected[at].second);
  }
  EXPECT_EQ(entries[1].inode, root_of(tree).status("/d/file")->inode);
}

TEST_P(HostRootTest, ListsAllOfADirectoryOrNothing) {
  const ScratchTree tree;
  for (int index = 0; index < 1200; ++index) {  // several getdents blocks
    tree.write("/d/" + std::string(40, 'n') + std::to_string(index), "");
  }
  const HostRoot root = root_of(tree);
  EXPECT_EQ(root.list("/d", 1200).value().size(), 1200U);
  EXPECT_EQ(root.list("/d", 1199).error().code, ErrorCode::TooLarge);
  tree.write("/file", "x");
  EXPECT_EQ(root.list("/file").error().code, ErrorCode::NotFound);
  EXPECT_EQ(root.list("/missing").error().code, ErrorCode::NotFound);
}

TEST_P(HostRootTest, ReadsALinkWithoutFollowingIt) {
  const ScratchTree tree;
  tree.link("/driver", "../../../bus/pci/drivers/nvidia");
  tree.write("/file", "x");
  const HostRoot root = root_of(tree);
  EXPECT_EQ(root.read_link("/driver").value(), "../../../bus/pci/drivers/nvidia");
  EXPECT_EQ(root.read_link("/file").error().code, ErrorCode::Malformed);
  EXPECT_EQ(root.read_link("/missing").error().code, ErrorCode::NotFound);
}

TEST_P(HostRootTest, ResolvesAChainOfLinksToItsLastName) {
  const ScratchTree tree;
  tree.write("/usr/lib/nvidia/current/libcuda.so.550.90.07", "x");
  tree.link("/usr/lib/nvidia/current/libcuda.so.1", "libcuda.so.550.90.07");
  tree.link("/etc/alternatives/cuda", "/usr/lib/nvidia/current/libcuda.so.1");
  tree.link("/usr/lib/libcuda.so.1", "../../etc/alternatives/cuda");
  tree.link("/usr/lib/dangling", "nowhere");
  const HostRoot root = root_of(tree);
  EXPECT_EQ(root.resolve("/usr/lib/libcuda.so.1").value(), "/usr/lib/nvidia/current/libcuda.so.550.90.07");
  EXPECT_EQ(root.resolve("/usr/lib/dangling").error().code, ErrorCode::NotFound);
}

TEST_P(HostRootTest, TellsOneFileFromAnotherByItsStatus) {
  const ScratchTree tree;
  tree.write("/a", "1234");
  tree.link("/b", "a");
  const HostRoot root = root_of(tree);
  const auto status = root.status("/b");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->kind, FileKind::Regular);
  EXPECT_EQ(status->size, 4U);
  EXPECT_EQ(*status, root.status("/a").value());
  tree.write("/c", "1234");
  EXPECT_NE(status->inode, root.status("/c").value().inode);
}

TEST_P(HostRootTest, MakesADirectoryARootOfItsOwn) {
  const ScratchTree tree;
  tree.write("/run/nvidia/driver/etc/os-release", "ID=container\n");
  tree.write("/etc/os-release", "ID=host\n");
  tree.link("/run/nvidia/driver/link", "/etc/os-release");
  const auto driver = root_of(tree).beneath("/run/nvidia/driver");
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->read("/link").value(), "ID=container\n");
  EXPECT_EQ(driver->read("/x").error().what, "reading /run/nvidia/driver/x: no such file or directory");
  EXPECT_EQ(root_of(tree).beneath("/run/missing").error().code, ErrorCode::NotFound);
}

TEST_P(HostRootTest, GivesAPathForInotifyThatReachesTheSameFile) {
  const ScratchTree tree;
  tree.write("/sys/module/x", "content");
  const auto place = root_of(tree).open_path("/sys/module");
  ASSERT_TRUE(place);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(place->watch_path()) / "x"));
}

TEST(HostFile, ReleasesWhatItHeldWhenAssignedTo) {
  const ScratchTree tree;
  tree.write("/a", "aaaa");
  tree.write("/b", "bbbb");
  const HostRoot root = tree.root();
  auto a = root.open_file("/a");
  auto b = root.open_file("/b");
  ASSERT_TRUE(a && b);
  const int held = a->descriptor();
  *a = std::move(*b);
  EXPECT_EQ(::fcntl(held, F_GETFD), -1) << "the first descriptor is still open";
  EXPECT_EQ(a->read_at(1, 2).value(), "bb");
  EXPECT_EQ(a->read_at(2, 100).value(), "bb");
  EXPECT_EQ(a->read_at(100, 1).value(), "");
}

TEST(HostRootEachLink, GivesEveryLinkOfADirectoryAsItIsWritten) {
  const ScratchTree tree;
  tree.link("/d/0", "/dev/null");
  tree.link("/d/1", "socket:[123]");
  tree.write("/d/file", "");
  tree.directory("/d/folder");
  std::map<std::string, std::string> links;
  const auto count = tree.root().each_link(
      "/d", 10, [&](std::string_view name, std::string_view target) { links.emplace(name, target); });
  EXPECT_EQ(count.value(), 2U);
  EXPECT_EQ(links, (std::map<std::string, std::string>{{"0", "/dev/null"}, {"1", "socket:[123]"}}));
}

TEST(HostRootEachLink, SaysWhyThereAreNone) {
  const ScratchTree tree;
  const auto ignore = [](std::string_view, std::string_view) {};
  EXPECT_EQ(tree.root().each_link("/d", 10, ignore).error().code, ErrorCode::NotFound);
  tree.link("/d/0", "a");
  tree.link("/d/1", "b");
  EXPECT_EQ(tree.root().each_link("/d", 1, ignore).error().code, ErrorCode::TooLarge);
  tree.fifo("/pipe");
  EXPECT_EQ(tree.root().each_link("/pipe", 1, ignore).error().code, ErrorCode::NotFound);
}

TEST(HostRootStatus, SaysWhatADeviceFileStandsFor) {
  const auto status = root_at("/").status("/dev/null");
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->kind, FileKind::CharacterDevice);
  EXPECT_EQ(status->device_major, 1U);
  EXPECT_EQ(status->device_minor, 3U);
}

TEST(HostRootKernelLine, IsReadLikeAnyOther) {
  const ScratchTree tree;
  tree.write("/proc/1/comm", "systemd\n");
  tree.fifo("/proc/2/comm");
  tree.write("/proc/3/comm", std::string(HostRoot::kMaxLineBytes + 1, 'x'));
  EXPECT_EQ(*tree.root().read_kernel_line("/proc/1/comm"), "systemd");
  EXPECT_EQ(tree.root().read_kernel_line("/proc/2/comm").error().code, ErrorCode::Malformed);
  EXPECT_EQ(tree.root().read_kernel_line("/proc/3/comm").error().code, ErrorCode::TooLarge);
  EXPECT_EQ(tree.root().read_kernel_line("/proc/4/comm").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
