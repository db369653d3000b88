// Cases of tests/fixtures/cases that the agent alone decides: which file speaks for the node.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

std::filesystem::path case_path(const char* name) {
  return std::filesystem::path(GPUSKEW_FIXTURES) / "cases" / name;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// `dpkg -l` lines as the status file has the packages.
std::string dpkg_status(const std::string& listing) {
  std::istringstream lines(listing);
  std::string status;
  std::string state;
  std::string package;
  std::string version;
  std::string architecture;
  while (lines >> state >> package >> version >> architecture) {
    status += "Package: " + package + "\nStatus: install ok installed\nArchitecture: " + architecture +
              "\nVersion: " + version + "\n\n";
  }
  return status;
}

TEST(Case013TegraNoProcFile, IsAJetsonAndNotAMissingDriver) {
  const auto folder = case_path("013-tegra-no-proc-file");
  const ScratchTree tree;
  tree.write("/proc/sys/kernel/osrelease", content_of(folder / "uname.txt"));
  tree.write("/var/lib/dpkg/status", dpkg_status(content_of(folder / "dpkg.txt")));
  tree.write("/sys/module/nvgpu/initstate", "live\n");
  tree.pci("0001:01:00.0", "0x10ec", "0x8168", "0x020000", "r8168");
  const Snapshot snapshot = take_snapshot(tree.root(), "jetson", "0.1.0", Time{});
  ASSERT_TRUE(snapshot.l4t_release.is_known());
  EXPECT_EQ(*snapshot.l4t_release, "32.7.3");
  EXPECT_EQ(snapshot.l4t_release.source(), "/var/lib/dpkg/status");
  EXPECT_TRUE(snapshot.loaded_driver.is_absent());
  EXPECT_TRUE(snapshot.gpus->empty());
}

TEST(Case045AgentContainerOsRelease, IsTheHostsWhenTheHostsRootIsMounted) {
  const HostRoot root = root_at(case_path("045-agent-container-os-release") / "host/proc/1/root");
  const Snapshot snapshot = take_snapshot(root, "n", "0.1.0", Time{});
  ASSERT_TRUE(snapshot.os.is_known());
  EXPECT_EQ(snapshot.os->id, "flatcar");
  EXPECT_EQ(snapshot.os->version_id, "3227.2.2");
  EXPECT_EQ(snapshot.os.source(), "/etc/os-release");
}

TEST(Case045AgentContainerOsRelease, IsUnknownWhereOnlyTheHostsProcIsMounted) {
  const HostRoot root = root_at(case_path("045-agent-container-os-release") / "host");
  EXPECT_TRUE(take_snapshot(root, "n", "0.1.0", Time{}).os.is_unknown());
}

TEST(Case045AgentContainerOsRelease, IsUnknownInAPodWithoutAHostMount) {
  const std::string text = content_of(case_path("045-agent-container-os-release") / "container/etc/os-release");
  const ScratchTree tree;
  tree.write("/etc/os-release", text);
  tree.write("/proc/sys/kernel/osrelease", "5.15.89-flatcar\n");
  tree.directory("/usr/lib");
  tree.write("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "gpuskew");
  const Snapshot snapshot = take_snapshot(tree.root(), "n", "0.1.0", Time{});
  EXPECT_TRUE(snapshot.os.is_unknown());
  EXPECT_TRUE(snapshot.module_file.is_unknown());
  EXPECT_TRUE(snapshot.libraries.is_unknown());
  EXPECT_TRUE(snapshot.driver_container.is_unknown());
  EXPECT_TRUE(snapshot.device_nodes.is_unknown());
  EXPECT_TRUE(snapshot.holders.is_unknown());
  EXPECT_TRUE(snapshot.kubelet.is_unknown());
  EXPECT_TRUE(snapshot.installs.is_unknown());
  EXPECT_TRUE(snapshot.fabric_manager.is_unknown());
  EXPECT_TRUE(snapshot.validations.is_unknown());
  EXPECT_TRUE(snapshot.kernel.is_known());
}

// Nothing tells a container without a service account from a host: there the root is taken at its word.
TEST(Case045AgentContainerOsRelease, IsWhatTheRootSaysWhereNothingMarksAPod) {
  const HostRoot root = root_at(case_path("045-agent-container-os-release") / "container");
  const Snapshot snapshot = take_snapshot(root, "n", "0.1.0", Time{});
  EXPECT_EQ(snapshot.os->id, "debian");
  EXPECT_EQ(snapshot.os.source(), "/etc/os-release");
}

}  // namespace
}  // namespace gpuskew
