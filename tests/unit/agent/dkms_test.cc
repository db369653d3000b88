#include "agent/probes/dkms.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kVersion = "/var/lib/dkms/nvidia/550.90.07";

// One version with its source, as `dkms add` leaves it.
void add(const ScratchTree& tree, std::string_view module = "nvidia", std::string_view version = "550.90.07") {
  const std::string source = "/usr/src/" + std::string(module) + "-" + std::string(version);
  tree.write(source + "/dkms.conf", "PACKAGE_NAME=nvidia\n");
  tree.link("/var/lib/dkms/" + std::string(module) + "/" + std::string(version) + "/source", source);
}

void build(const ScratchTree& tree, std::string_view kernel, std::string_view suffix = ".ko") {
  tree.write(std::string(kVersion) + "/" + std::string(kernel) + "/x86_64/module/nvidia" + std::string(suffix), "ELF");
  tree.write(std::string(kVersion) + "/" + std::string(kernel) + "/x86_64/log/make.log", "DKMS");
}

void install(const ScratchTree& tree, std::string_view kernel) {
  tree.link("/var/lib/dkms/nvidia/kernel-" + std::string(kernel) + "-x86_64",
            "550.90.07/" + std::string(kernel) + "/x86_64");
}

std::string text(const Fact<std::vector<DkmsEntry>>& fact) {
  if (!fact.is_known()) {
    return fact.is_absent() ? "absent" : "unknown: " + fact.why().what;
  }
  std::string all;
  for (const DkmsEntry& entry : *fact) {
    all += entry.module + "/" + entry.version + " " + entry.kernel + " " + std::string(to_string(entry.stage)) +
           (entry.note.empty() ? "" : " (" + entry.note + ")") + "\n";
  }
  return all;
}

std::string read(const ScratchTree& tree) {
  return text(read_dkms(tree.root()));
}

TEST(Dkms, IsAbsentWithoutItsTreeAndEmptyWithoutNvidia) {
  const ScratchTree tree;
  EXPECT_EQ(read(tree), "absent");
  tree.write("/var/lib/dkms/zfs/2.1/source/dkms.conf", "x");
  tree.write("/var/lib/dkms/nvidia-fs/2.1/source/dkms.conf", "x");
  tree.write("/var/lib/dkms/dkms_dbversion", "2.0.0\n");
  EXPECT_EQ(read(tree), "");
}

TEST(Dkms, TellsAddedBuiltAndInstalledApart) {
  const ScratchTree tree;
  add(tree);
  EXPECT_EQ(read(tree), "nvidia/550.90.07  added\n");
  build(tree, "5.15.0-119-generic");
  EXPECT_EQ(read(tree), "nvidia/550.90.07 5.15.0-119-generic built\n");
  install(tree, "5.15.0-119-generic");
  build(tree, "5.15.0-122-generic", ".ko.zst");
  EXPECT_EQ(read(tree), "nvidia/550.90.07 5.15.0-119-generic installed\nnvidia/550.90.07 5.15.0-122-generic built\n");
}

TEST(Dkms, NotesAnOriginalModule) {
  const ScratchTree tree;
  add(tree);
  build(tree, "5.15.0-119-generic");
  install(tree, "5.15.0-119-generic");
  tree.write("/var/lib/dkms/nvidia/original_module/5.15.0-119-generic/x86_64/nvidia.ko", "ELF");
  EXPECT_EQ(read(tree), "nvidia/550.90.07 5.15.0-119-generic installed (original_module exists)\n");
}

TEST(Dkms, KnowsTheDriverByEachOfItsNames) {
  const ScratchTree tree;
  for (const char* name : {"nvidia", "nvidia-open", "nvidia-current", "nvidia-srv", "nvidia-tesla-470"}) {
    add(tree, name, "535.183.01");
  }
  EXPECT_EQ(read_dkms(tree.root())->size(), 5U);
}

TEST(Dkms, SaysWhyABuildFailed) {
  const ScratchTree tree;
  add(tree);
  tree.write(
      std::string(kVersion) + "/build/make.log",
      "DKMS make.log for nvidia-550.90.07 for kernel 6.8.0-41-generic (x86_64)\nnv.c:1:2: error: no such member\n");
  EXPECT_EQ(read(tree),
            "nvidia/550.90.07 6.8.0-41-generic failed (/var/lib/dkms/nvidia/550.90.07/build/make.log: nv.c:1:2: error: "
            "no such member)\n");
  build(tree, "6.8.0-41-generic");  // an older module of that kernel outlives a failed rebuild
  EXPECT_EQ(read(tree), "nvidia/550.90.07 6.8.0-41-generic built\n");
}

TEST(Dkms, TakesABuildWithoutAnEndForNeitherFailedNorDone) {
  const ScratchTree tree;
  add(tree);
  tree.write(std::string(kVersion) + "/build/make.log",
             "DKMS make.log for nvidia-550.90.07 for kernel 6.8.0-41-generic (x86_64)\n  CC [M] nv.o\n");
  EXPECT_EQ(read_dkms(tree.root())->at(0).stage, DkmsStage::Broken);
  EXPECT_EQ(read_dkms(tree.root())->at(0).kernel, "6.8.0-41-generic");
}

TEST(Dkms, SeesHalfWrittenTrees) {
  const ScratchTree tree;
  add(tree);
  tree.directory(std::string(kVersion) + "/5.15.0-1-generic/x86_64");
  tree.write(std::string(kVersion) + "/5.15.0-2-generic/x86_64/module/nvidia.ko", "");
  tree.write(std::string(kVersion) + "/5.15.0-3-generic/x86_64/module/nvidia-uvm.ko", "ELF");
  tree.link(std::string(kVersion) + "/5.15.0-4-generic/x86_64/module/nvidia.ko", "/gone");
  tree.write(std::string(kVersion) + "/5.15.0-5-generic", "no directory");
  tree.directory("/var/lib/dkms/nvidia/kernel-5.15.0-6-generic-x86_64");  // no link
  const auto entries = read_dkms(tree.root());
  ASSERT_EQ(entries->size(), 4U) << text(entries);
  for (const DkmsEntry& entry : *entries) {
    EXPECT_EQ(entry.stage, DkmsStage::Broken) << entry.kernel;
    EXPECT_NE(entry.note.find("holds no nvidia module"), std::string::npos);
  }
}

TEST(Dkms, CallsAVersionWithoutItsSourceBroken) {
  const ScratchTree tree;
  tree.link(std::string(kVersion) + "/source", "/usr/src/nvidia-550.90.07");
  EXPECT_EQ(read(tree),
            "nvidia/550.90.07  broken (/var/lib/dkms/nvidia/550.90.07/source/dkms.conf does not exist: dkms fails on "
            "this version and builds nothing of it)\n");
  build(tree, "5.15.0-119-generic");
  install(tree, "5.15.0-119-generic");
  EXPECT_EQ(read_dkms(tree.root())->size(), 2U);
}

TEST(Dkms, TakesKernelsOf64CharactersAndAbsoluteLinks) {
  const ScratchTree tree;
  add(tree);
  const std::string kernel = "6." + std::string(62, 'k');
  build(tree, kernel);
  tree.link("/var/lib/dkms/nvidia/kernel-" + kernel + "-x86_64",
            "/var/lib/dkms/nvidia/550.90.07/" + kernel + "/x86_64");
  EXPECT_EQ(read(tree), "nvidia/550.90.07 " + kernel + " installed\n");
}

TEST(Dkms, IsUnknownWhereAPartCanNotBeRead) {
  for (const char* place : {"/var/lib/dkms", "/var/lib/dkms/nvidia/550.90.07/5.15.0-1-generic/x86_64/module",
                            "/var/lib/dkms/nvidia/550.90.07/build/make.log"}) {
    const ScratchTree tree;
    tree.broken(place);
    EXPECT_TRUE(read(tree).starts_with("unknown: ")) << place;
  }
  const ScratchTree tree;
  add(tree);
  for (std::size_t index = 0; index <= Snapshot::kMaxDkmsEntries; ++index) {
    build(tree, "6.1." + std::to_string(index));
  }
  EXPECT_EQ(read_dkms(tree.root()).why().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
