#include "agent/probes/runtime_version.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/go_program.h"
#include "tests/unit/agent/runtime_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kPath = "path\tgithub.com/containerd/containerd/cmd/containerd\n";

RuntimeDaemon containerd(bool runs) {
  RuntimeDaemon daemon{RuntimeKind::Containerd, "", "/etc/containerd/config.toml", false, std::nullopt};
  if (runs) {
    daemon.process = RuntimeProcess{10, 1000, "containerd", {"containerd"}};
  }
  return daemon;
}

DaemonVersion version_of(const ScratchTree& tree, const RuntimeDaemon& daemon) {
  SeenFiles seen;
  return read_daemon_version(tree.root(), daemon, seen);
}

std::string dpkg(const std::string& package, const std::string& version) {
  return "Package: " + package + "\nStatus: install ok installed\nPriority: optional\nVersion: " + version +
         "\nDescription: x\n\n";
}

TEST(RuntimeVersion, IsToldByTheRunningProgram) {
  const ScratchTree tree;
  tree.write("/opt/x/containerd", go_program(std::string(kPath) + "mod\tgithub.com/containerd/containerd\tv1.7.24\n"));
  tree.link("/proc/10/exe", "/opt/x/containerd");
  const DaemonVersion version = version_of(tree, containerd(true));
  EXPECT_EQ(*version.text, "1.7.24");
  EXPECT_EQ(version.text.source(), "/opt/x/containerd");
  EXPECT_EQ(version.containerd.minor, 7U);
}

TEST(RuntimeVersion, IsThePackagesWhereTheProgramIsSilent) {
  const ScratchTree tree;
  tree.write("/usr/bin/containerd", go_program(kPath));
  std::string status;
  for (int package = 0; package < 3000; ++package) {  // past a block's border
    status += dpkg("package-" + std::to_string(package), "1.0");
  }
  tree.write("/var/lib/dpkg/status", status + dpkg("containerd", "1.6.20~ds1-1+deb12u3") + status);
  EXPECT_EQ(*version_of(tree, containerd(false)).text, "1.6.20");
  tree.write("/var/lib/dpkg/status", dpkg("containerd.io", "1.7.24-1"));
  EXPECT_EQ(*version_of(tree, containerd(false)).text, "1.7.24");
  tree.write("/var/lib/dpkg/status",
             "Package: containerd\nStatus: deinstall ok config-files\nVersion: 1.6.20~ds1-1\n\n");
  EXPECT_TRUE(version_of(tree, containerd(false)).text.is_unknown());
}

TEST(RuntimeVersion, IsUnknownBeyondItsMajorWhereOnlyThatIsTold) {
  const ScratchTree tree;
  tree.write("/usr/local/bin/containerd", go_program(kPath));
  const DaemonVersion version = version_of(tree, containerd(false));
  EXPECT_EQ(version.text.why().what, "/usr/local/bin/containerd: the program does not tell it beyond its major, 1");
  EXPECT_EQ(version.containerd.major, 1U);
}

TEST(RuntimeVersion, IsUnknownOfAProgramThatWasReplacedOrIsNotGo) {
  const ScratchTree tree;
  tree.write("/usr/bin/containerd", "#!/bin/sh\n");
  tree.link("/proc/10/exe", "/usr/bin/containerd (deleted)");
  EXPECT_EQ(version_of(tree, containerd(true)).text.why().what,
            "the running program is not the one on disk any more: /usr/bin/containerd");
  EXPECT_EQ(version_of(tree, containerd(false)).text.why().what, "/usr/bin/containerd: cut off inside its ELF header");
  tree.remove("/proc/10/exe");
  EXPECT_TRUE(version_of(tree, containerd(true)).text.is_unknown());
}

TEST(RuntimeVersion, IsAbsentWhereNoProgramIsInstalled) {
  const ScratchTree tree;
  EXPECT_TRUE(version_of(tree, containerd(false)).text.is_absent());
}

}  // namespace
}  // namespace gpuskew
