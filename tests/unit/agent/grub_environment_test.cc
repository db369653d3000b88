#include "agent/probes/grub_environment.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/probes/next_kernel.h"
#include "tests/support/process.h"
#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

TEST(GrubEnvironment, HoldsAssignmentsUpToItsPadding) {
  const auto environment = parse_grub_environment(grub_environment("saved_entry=1>2\nempty=\n=no\nno\n")).value();
  EXPECT_EQ(environment, (GrubEnvironment{{"saved_entry", "1>2"}, {"empty", ""}}));
}

TEST(GrubEnvironment, ResolvesEscapes) {
  const auto environment = parse_grub_environment(grub_environment("a=x\\\\y\\\nz\nb=1\n")).value();
  EXPECT_EQ(environment.at("a"), "x\\y\nz");
  EXPECT_EQ(environment.at("b"), "1");
}

TEST(GrubEnvironment, IsNoneWithoutItsSignature) {
  EXPECT_EQ(parse_grub_environment("").error().code, ErrorCode::Malformed);
  EXPECT_EQ(parse_grub_environment(std::string(1024, '\0')).error().code, ErrorCode::Malformed);
  EXPECT_TRUE(parse_grub_environment("# GRUB Environment Block\n").value().empty());
}

// The real program writes what is read here.
TEST(GrubEnvironment, IsWhatGrubEditenvWrites) {
  if (!std::filesystem::exists("/usr/bin/grub-editenv")) {
    GTEST_SKIP() << "grub-common is not installed";
  }
  const ScratchTree tree;
  tree.directory("/sys/firmware");
  install_kernel(tree, "6.1.0-50-amd64");
  install_kernel(tree, "6.1.0-57-amd64");
  tree.write("/boot/grub/grub.cfg", grub_config({"6.1.0-57-amd64", "6.1.0-50-amd64"}, "\"${saved_entry}\""));
  const std::string file = (tree.path() / "boot/grub/grubenv").string();
  const auto editenv = [&file](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"/usr/bin/grub-editenv", file});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  const auto next = [&tree] { return read_next_boot_entry(tree.root()).kernel->release.text(); };
  editenv({"create"});
  EXPECT_EQ(next(), "6.1.0-57-amd64");
  editenv({"set", "saved_entry=gnulinux-advanced-12-34>gnulinux-6.1.0-50-amd64-advanced-12-34", "odd=a\\b"});
  EXPECT_EQ(next(), "6.1.0-50-amd64");
  EXPECT_EQ(parse_grub_environment(tree.root().read("/boot/grub/grubenv").value())->at("odd"), "a\\b");
  editenv({"set", "next_entry=0"});
  EXPECT_EQ(next(), "6.1.0-57-amd64");
  editenv({"unset", "next_entry"});
  EXPECT_EQ(next(), "6.1.0-50-amd64");
}

}  // namespace
}  // namespace gpuskew
