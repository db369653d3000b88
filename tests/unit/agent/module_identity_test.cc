#include "agent/probes/module_identity.h"

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

ModuleIdentity read(const ScratchTree& tree, const std::string& path) {
  return read_module_identity(tree.root().open_file(path).value());
}

std::string read_version(const ScratchTree& tree, const std::string& path) {
  const auto version = read(tree, path).version;
  return version ? version->text() : version.error().what;
}

TEST(ModuleIdentity, ReadsAPlainFileByItsSections) {
  const ScratchTree tree;
  tree.write("/nvidia.ko", module_text("550.90.07"));
  EXPECT_EQ(read_version(tree, "/nvidia.ko"), "550.90.07");
}

TEST(ModuleIdentity, ReadsEachCompressionWhateverTheFileIsCalled) {
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

TEST(ModuleIdentity, TellsTheKernelAndTheFlavourOfEachCompression) {
  const ScratchTree tree;
  const std::string text = module_text("570.133.07");
  tree.write("/plain", text);
  tree.write("/gz", gzipped(text));
  tree.write("/xz", xzipped(text));
  tree.write("/zst", zstandard(text));
  for (const char* path : {"/plain", "/gz", "/xz", "/zst"}) {
    const ModuleIdentity identity = read(tree, path);
    EXPECT_TRUE(identity.is_whole()) << path;
    EXPECT_EQ(identity.built_for.value().text(), "5.15.0-119-generic") << path;
    EXPECT_EQ(identity.flavour.value(), ModuleFlavour::Proprietary) << path;
  }
}

TEST(ModuleIdentity, KnowsThePartsThatAreThereWhenOthersAreMissing) {
  const ScratchTree tree;
  const std::string text = elf_module(std::string("a=b\0license=Dual MIT/GPL\0version=1.2.3.4\0", 42));
  tree.write("/plain", text);
  tree.write("/packed", zstandard(text));
  for (const char* path : {"/plain", "/packed"}) {
    const ModuleIdentity identity = read(tree, path);
    EXPECT_EQ(identity.flavour.value(), ModuleFlavour::Open) << path;
    EXPECT_EQ(identity.version.error().code, ErrorCode::Malformed) << path;
    EXPECT_EQ(identity.built_for.error().code, ErrorCode::Malformed) << path;
  }
}

TEST(ModuleIdentity, LeavesNoProcessBehind) {
  const ScratchTree tree;
  tree.write("/nvidia.ko.zst", zstandard(module_text("550.90.07")));
  ASSERT_EQ(read_version(tree, "/nvidia.ko.zst"), "550.90.07");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ModuleIdentity, SaysWhatIsWrongWithABrokenFile) {
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
    EXPECT_EQ(read_version(tree, path), "the compressed data is cut off");
  }
  tree.write("/junk", "not a module");
  EXPECT_EQ(read_version(tree, "/junk"), "cut off inside its ELF header");
  tree.write("/versionless", elf_module(std::string("license=NVIDIA\0", 15)));
  EXPECT_EQ(read_version(tree, "/versionless"), "no version entry");
  tree.write("/versionless.xz", xzipped(elf_module(std::string("license=NVIDIA\0", 15))));
  EXPECT_EQ(read_version(tree, "/versionless.xz"), "no version entry with a driver version");
}

TEST(ModuleIdentity, RefusesToUnpackWithoutEnd) {
  const ScratchTree tree;
  tree.write("/bomb.zst", zstandard_zeros(kMaxUnpackedBytes + (1U << 20)));
  const auto version = read(tree, "/bomb.zst").version;
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().code, ErrorCode::TooLarge) << version.error().what;
}

TEST(ModuleIdentity, RefusesADecoderThatWantsTooMuchMemory) {
  const ScratchTree tree;
  tree.write("/wide.xz", xzipped(module_text("550.90.07"), 64U << 20));
  const auto version = read(tree, "/wide.xz").version;
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().code, ErrorCode::TooLarge) << version.error().what;
}

}  // namespace
}  // namespace gpuskew
