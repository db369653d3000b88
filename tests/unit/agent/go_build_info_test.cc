#include "agent/probes/go_build_info.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/go_program.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

Result<std::string> info_of(const std::string& bytes) {
  return read_go_build_info([&bytes](std::uint64_t offset, std::size_t size) -> Result<std::string> {
    return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
  });
}

TEST(GoBuildInfo, IsTheModuleInformationOfTheProgram) {
  const std::string modules = "path\tgithub.com/containerd/containerd/v2/cmd/containerd\n";
  EXPECT_EQ(*info_of(go_program(modules)), modules);
  const std::string large = modules + std::string(60'000, 'x');
  EXPECT_EQ(*info_of(go_program(large)), large);
}

TEST(GoBuildInfo, IsOnlyReadWhereItIsWhole) {
  const std::string program = go_program("path\tx\n");
  EXPECT_EQ(info_of("#!/bin/sh\n").error().code, ErrorCode::Malformed);
  EXPECT_EQ(info_of(go_program("path\tx\n", 0)).error().what,
            "built by a Go older than 1.18, which keeps its build information elsewhere");
  for (std::size_t size = 0; size < program.size(); size += 7) {
    EXPECT_FALSE(info_of(program.substr(0, size))) << size;
  }
}

TEST(GoBuildInfo, OfTheContainerdHereTellsItsMajorVersion) {
  const HostRoot root = root_at("/");
  const auto file = root.open_file("/usr/bin/containerd");
  ASSERT_TRUE(file) << file.error().what;
  const auto info =
      read_go_build_info([&file](std::uint64_t offset, std::size_t size) { return file->read_at(offset, size); });
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(containerd_version_in(*info).major, 1U);
}

TEST(ContainerdVersionIn, IsWhatTheLinkerWasToldOrTheModulesOwn) {
  const std::string path = "path\tgithub.com/containerd/containerd/v2/cmd/containerd\n";
  const std::string mod = "mod\tgithub.com/containerd/containerd/v2\t";
  const std::string flags = "build\t-ldflags=\"-s -X github.com/containerd/containerd/v2/version.Version=";
  EXPECT_EQ(containerd_version_in(path + mod + "v2.1.4\th1:x=\n"), (ContainerdVersion{2, 1, "2.1.4"}));
  EXPECT_EQ(containerd_version_in(path + mod + "(devel)\n" + flags + "v2.0.5 -w\"\n"),
            (ContainerdVersion{2, 0, "2.0.5"}));
  EXPECT_EQ(containerd_version_in(path + mod + "(devel)\t\n"), (ContainerdVersion{2, 0, ""}));
  EXPECT_EQ(containerd_version_in("path\tgithub.com/containerd/containerd/cmd/containerd\nbuild\t-trimpath=true\n"),
            (ContainerdVersion{1, 0, ""}));
}

TEST(ContainerdVersionIn, IsTheDependencysInAProgramThatHasContainerdInside) {
  const std::string k3s =
      "path\tgithub.com/k3s-io/k3s/cmd/server\nmod\tgithub.com/k3s-io/k3s\t(devel)\n"
      "dep\tgithub.com/containerd/containerd/api\tv1.8.0\th1:x=\n"
      "dep\tgithub.com/containerd/containerd/v2\tv2.0.4\n=>\tgithub.com/k3s-io/containerd/v2\tv2.0.5-k3s1\th1:x=\n"
      "dep\tgithub.com/containerd/log\tv0.1.0\n";
  EXPECT_EQ(containerd_version_in(k3s), (ContainerdVersion{2, 0, "2.0.5"}));
}

TEST(ContainerdVersionIn, IsNothingInAnotherProgram) {
  EXPECT_EQ(containerd_version_in("path\tgithub.com/containerd/containerd-shim/cmd/x\nmod\tx\tv3.0.0\n"),
            ContainerdVersion());
  EXPECT_EQ(containerd_version_in("build\t-ldflags=\"-X example.com/version.Version=9.9.9\"\n"), ContainerdVersion());
  EXPECT_EQ(containerd_version_in(""), ContainerdVersion());
}

TEST(ContainerdVersion, IsTheUpstreamPartOfWhatPackagersWrite) {
  EXPECT_EQ(parse_containerd_version("1.6.20~ds1-1+deb12u3"), (ContainerdVersion{1, 6, "1.6.20"}));
  EXPECT_EQ(parse_containerd_version("v1.7.24-k3s1"), (ContainerdVersion{1, 7, "1.7.24"}));
  for (const char* none : {"", "v", "1.7", "1.7.", "v0.0.0-20240101", "devel", "1..2", "99999999999.1.1"}) {
    EXPECT_EQ(parse_containerd_version(none), ContainerdVersion()) << none;
  }
}

}  // namespace
}  // namespace gpuskew
