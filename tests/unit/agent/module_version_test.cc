#include "agent/probes/module_version.h"

#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "agent/probes/decompress.h"
#include "tests/unit/agent/compressed.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

std::string module_text(std::string_view version) {
  // Large enough for many blocks, and poorly compressible in parts.
  std::string padding;
  unsigned state = 1;
  for (int index = 0; index < 600'000; ++index) {
    state = state * 1664525U + 1013904223U;
    padding += index % 3 == 0 ? '\0' : static_cast<char>(state >> 24);
  }
  return elf_module(modinfo_with_version(version)) + padding;
}

std::string read_version(const ScratchTree& tree, const std::string& path) {
  const auto version = read_module_version(tree.root(), path);
  return version ? version->text() : version.error().what;
}

TEST(ModuleVersion, ReadsAPlainFileByItsSections) {
  const ScratchTree tree;
  tree.write("/nvidia.ko", module_text("550.90.07"));
  EXPECT_EQ(read_version(tree, "/nvidia.ko"), "550.90.07");
}

TEST(ModuleVersion, ReadsEachCompressionWhateverTheFileIsCalled) {
  const ScratchTree tree;
  const std::string text = module_text("570.133.07");
  tree.write("/nvidia.ko.gz", gzipped(text));
  tree.write("/nvidia.ko.xz", xzipped(text));
  tree.write("/nvidia.ko.zst", zstandard(text));
  tree.write("/nvidia.ko", zstandard(text));
  for (const char* path : {"/nvidia.ko.gz", "/nvidia.ko.xz", "/nvidia.ko.zst", "/nvidia.ko"}) {
    EXPECT_EQ(read_version(tree, path), "570.133.07") << path;
  }
}

TEST(ModuleVersion, LeavesNoProcessBehind) {
  const ScratchTree tree;
  tree.write("/nvidia.ko.zst", zstandard(module_text("550.90.07")));
  ASSERT_EQ(read_version(tree, "/nvidia.ko.zst"), "550.90.07");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ModuleVersion, SaysWhatIsWrongWithABrokenFile) {
  const ScratchTree tree;
  const std::string text = module_text("550.90.07");
  const auto write = [&tree](const char* path, std::string bytes, std::size_t keep) {
    bytes.resize(keep);
    tree.write(path, bytes);
  };
  write("/cut.gz", gzipped(text), 1000);
  write("/cut.xz", xzipped(text), 1000);
  write("/cut.zst", zstandard(text), 1000);
  for (const char* path : {"/cut.gz", "/cut.xz", "/cut.zst"}) {
    EXPECT_EQ(read_version(tree, path), std::string("reading ") + path + ": the compressed data is cut off");
  }
  tree.write("/junk", "not a module");
  EXPECT_EQ(read_version(tree, "/junk"), "reading /junk: cut off inside its ELF header");
  tree.write("/versionless", elf_module(std::string("license=NVIDIA\0", 15)));
  EXPECT_EQ(read_version(tree, "/versionless"), "reading /versionless: no version entry");
  tree.write("/versionless.xz", xzipped(elf_module(std::string("license=NVIDIA\0", 15))));
  EXPECT_EQ(read_version(tree, "/versionless.xz"), "reading /versionless.xz: no version entry with a driver version");
}

TEST(ModuleVersion, RefusesToUnpackWithoutEnd) {
  const ScratchTree tree;
  tree.write("/bomb.zst", zstandard_zeros(kMaxUnpackedBytes + (1U << 20)));
  const auto version = read_module_version(tree.root(), "/bomb.zst");
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().code, ErrorCode::TooLarge) << version.error().what;
}

TEST(ModuleVersion, RefusesADecoderThatWantsTooMuchMemory) {
  const ScratchTree tree;
  tree.write("/wide.xz", xzipped(module_text("550.90.07"), 64U << 20));
  const auto version = read_module_version(tree.root(), "/wide.xz");
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().code, ErrorCode::TooLarge) << version.error().what;
}

TEST(ModuleVersionCache, ReadsAFileAgainOnlyWhenItChanged) {
  const ScratchTree tree;
  tree.write("/nvidia.ko", elf_module(modinfo_with_version("535.183.01")));
  const HostRoot root = tree.root();
  ModuleVersionCache cache;
  EXPECT_EQ(cache.read(root, "/nvidia.ko")->text(), "535.183.01");
  const auto when = std::filesystem::last_write_time(tree.path() / "nvidia.ko");
  tree.write("/nvidia.ko", elf_module(modinfo_with_version("535.183.06")));
  // The same inode, size and time: the same file, as far as the cache can know.
  std::filesystem::last_write_time(tree.path() / "nvidia.ko", when);
  EXPECT_EQ(cache.read(root, "/nvidia.ko")->text(), "535.183.01");
  std::filesystem::last_write_time(tree.path() / "nvidia.ko", when + std::chrono::nanoseconds(1));
  EXPECT_EQ(cache.read(root, "/nvidia.ko")->text(), "535.183.06");
}

TEST(ModuleVersionCache, SeesAReplacedFileAndAGoneOne) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  ModuleVersionCache cache;
  EXPECT_EQ(cache.read(root, "/nvidia.ko").error().code, ErrorCode::NotFound);
  tree.write("/nvidia.ko", elf_module(modinfo_with_version("535.183.01")));
  EXPECT_EQ(cache.read(root, "/nvidia.ko")->text(), "535.183.01");
  tree.remove("/nvidia.ko");
  EXPECT_EQ(cache.read(root, "/nvidia.ko").error().code, ErrorCode::NotFound);
}

TEST(ModuleVersionCache, StaysBoundedAndRight) {
  const ScratchTree tree;
  const HostRoot root = tree.root();
  ModuleVersionCache cache;
  for (std::size_t index = 0; index < 3 * ModuleVersionCache::kMaxFiles; ++index) {
    const std::string number = std::to_string(100 + index);
    tree.write("/" + number, elf_module(modinfo_with_version(number + ".1")));
    EXPECT_EQ(cache.read(root, "/" + number)->text(), number + ".1");
  }
}

TEST(ModuleVersionCache, GivesAFailureUpAfterSomeAttempts) {
  const ScratchTree tree;
  tree.write("/nvidia.ko.xz", std::string("\xfd"
                                          "7zXZ\0",
                                          6));
  const HostRoot root = tree.root();
  ModuleVersionCache cache;
  for (int attempt = 0; attempt < 2 * ModuleVersionCache::kMaxAttempts; ++attempt) {
    EXPECT_EQ(cache.read(root, "/nvidia.ko.xz").error().code, ErrorCode::Malformed);
  }
}

}  // namespace
}  // namespace gpuskew
