#include "agent/probes/libraries.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kDebian = "/usr/lib/x86_64-linux-gnu/";

void install(const ScratchTree& tree, const std::string& directory, const std::string& name,
             const std::string& version) {
  tree.write(directory + name + ".so." + version, "library " + version);
  tree.link(directory + name + ".so.1", name + ".so." + version);
}

Library library(const char* name, const char* version, std::string path, DriverRoot root = DriverRoot::Host) {
  return {name, DriverVersion::parse(version).value(), std::move(path), root};
}

TEST(Libraries, AreTheVersionsTheirLinksEndAt) {
  const ScratchTree tree;
  install(tree, kDebian, "libnvidia-ml", "550.90.07");
  install(tree, kDebian, "libcuda", "550.90.07");
  tree.write(std::string(kDebian) + "libcuda.so.535.54.03", "left behind by an older package");
  const auto fact = read_libraries(tree.root());
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(*fact, (std::vector<Library>{
                       library("libnvidia-ml", "550.90.07", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07"),
                       library("libcuda", "550.90.07", "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07")}));
  EXPECT_EQ(fact->front().version.text(), "550.90.07");
  EXPECT_EQ(fact.source(), "/usr/lib/x86_64-linux-gnu");
}

TEST(Libraries, AreFoundInEachUsualDirectory) {
  for (const char* directory :
       {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/", "/usr/lib/", "/usr/lib/nvidia-384/",
        "/usr/lib/x86_64-linux-gnu/nvidia/current/", "/usr/lib/nvidia/tesla/", "/home/kubernetes/bin/nvidia/lib64/"}) {
    const ScratchTree tree;
    tree.directory("/usr/lib");
    install(tree, directory, "libnvidia-ml", "535.183.06");
    const auto fact = read_libraries(tree.root());
    ASSERT_TRUE(fact.is_known()) << directory;
    EXPECT_EQ(fact->size(), 1U) << directory;
  }
}

TEST(Libraries, AreListedFromHostAndContainerAlike) {
  const ScratchTree tree;  // the operator's driver beside packages of the host: both count
  install(tree, kDebian, "libnvidia-ml", "535.216.01");
  install(tree, "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/", "libnvidia-ml", "535.183.01");
  const auto fact = read_libraries(tree.root());
  EXPECT_EQ(*fact, (std::vector<Library>{
                       library("libnvidia-ml", "535.216.01", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.216.01"),
                       library("libnvidia-ml", "535.183.01",
                               "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.183.01",
                               DriverRoot::Container)}));
}

TEST(Libraries, OfAContainerResolveItsAbsoluteLinksInsideIt) {
  const ScratchTree tree;
  tree.directory("/usr/lib");
  const std::string driver = "/run/nvidia/driver";
  tree.write(driver + "/opt/libs/libcuda.so.550.90.07", "x");
  tree.link(driver + "/usr/lib64/libcuda.so.1", "/opt/libs/libcuda.so.550.90.07");
  EXPECT_EQ(read_libraries(tree.root())->at(0).path, driver + "/opt/libs/libcuda.so.550.90.07");
}

TEST(Libraries, BehindDebiansAlternativesAreListedOnce) {
  const ScratchTree tree;
  install(tree, "/usr/lib/x86_64-linux-gnu/nvidia/current/", "libcuda", "535.183.01");
  tree.link("/etc/alternatives/libcuda", "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1");
  tree.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/etc/alternatives/libcuda");
  tree.link("/usr/lib64", "lib");
  EXPECT_EQ(read_libraries(tree.root())->size(), 1U);
}

TEST(Libraries, WithoutALinkCountWhenThereIsOneVersion) {
  const ScratchTree tree;
  tree.write(std::string(kDebian) + "libnvidia-ml.so.535.104.05", "x");
  tree.write(std::string(kDebian) + "libnvidia-ml.so.debug", "x");
  EXPECT_EQ(read_libraries(tree.root())->at(0).version.text(), "535.104.05");
}

TEST(Libraries, AreUnknownWhereTheirLinkLeadsNowhere) {
  const ScratchTree tree;
  tree.write(std::string(kDebian) + "libnvidia-ml.so.535.104.05", "x");
  tree.link(std::string(kDebian) + "libnvidia-ml.so.1", "libnvidia-ml.so.535.54.03");
  const auto fact = read_libraries(tree.root());
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().what,
            "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 is a link that leads nowhere, though "
            "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05 is there");
  tree.remove(std::string(kDebian) + "libnvidia-ml.so.535.104.05");
  EXPECT_TRUE(read_libraries(tree.root()).is_absent()) << "what an uninstalled package left behind";
}

TEST(Libraries, AreUnknownWithSeveralVersionsAndNoLink) {
  const ScratchTree tree;
  tree.write(std::string(kDebian) + "libnvidia-ml.so.535.104.05", "x");
  tree.write(std::string(kDebian) + "libnvidia-ml.so.535.183.01", "x");
  const auto fact = read_libraries(tree.root());
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().what, "/usr/lib/x86_64-linux-gnu: several versions and no libnvidia-ml.so.1");
}

TEST(Libraries, AreUnknownWhenTheLinksTargetTellsNoVersion) {
  const ScratchTree tree;
  tree.write(std::string(kDebian) + "libcuda.so.1.1", "Jetson's own number");
  tree.link(std::string(kDebian) + "libcuda.so.1", "libcuda.so.1.1");
  EXPECT_EQ(read_libraries(tree.root()).why().code, ErrorCode::Malformed);
  tree.remove(std::string(kDebian) + "libcuda.so.1");
  tree.write(std::string(kDebian) + "libcuda.so.1", "a plain file");
  EXPECT_TRUE(read_libraries(tree.root()).is_unknown());
}

TEST(Libraries, AreUnknownWhenALinkCanNotBeFollowed) {
  const ScratchTree tree;
  install(tree, "/usr/lib64/", "libcuda", "550.90.07");
  tree.directory("/usr/lib");
  tree.broken(std::string(kDebian) + "libnvidia-ml.so.1");
  EXPECT_TRUE(read_libraries(tree.root()).is_unknown());
}

TEST(Libraries, AreAbsentOnlyWhereLibraryDirectoriesAre) {
  const ScratchTree tree;
  EXPECT_TRUE(read_libraries(tree.root()).is_unknown());
  tree.write(std::string(kDebian) + "libc.so.6", "x");
  const auto fact = read_libraries(tree.root());
  EXPECT_TRUE(fact.is_absent());
  EXPECT_EQ(fact.source(), "/usr/lib/x86_64-linux-gnu, /usr/lib");
}

}  // namespace
}  // namespace gpuskew
