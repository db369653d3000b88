#include "agent/probes/loaded_module.h"

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kProprietary =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04) \n";

TEST(LoadedModule, TakesTheVersionFromSysfsAndTheFlavourFromProc) {
  const ScratchTree tree;
  tree.write("/sys/module/nvidia/version", "550.90.07\n");
  tree.write("/proc/driver/nvidia/version", kProprietary);
  const auto module = read_loaded_module(tree.root());
  EXPECT_EQ(module.version->text(), "550.90.07");
  EXPECT_EQ(module.version.source(), "/sys/module/nvidia/version");
  EXPECT_EQ(*module.flavour, ModuleFlavour::Proprietary);
  EXPECT_EQ(module.flavour.source(), "/proc/driver/nvidia/version");
}

TEST(LoadedModule, FallsBackToProcWhenSysfsHasNoVersion) {
  const ScratchTree tree;
  tree.directory("/sys/module/nvidia");
  tree.write("/proc/driver/nvidia/version", kProprietary);
  EXPECT_EQ(read_loaded_module(tree.root()).version.source(), "/proc/driver/nvidia/version");
}

TEST(LoadedModule, IsUnknownWhenALoadedModuleTellsNoVersion) {
  const ScratchTree tree;
  tree.write("/sys/module/nvidia/refcnt", "2\n");
  const auto module = read_loaded_module(tree.root());
  ASSERT_TRUE(module.version.is_unknown());
  EXPECT_NE(module.version.why().what.find("the module is loaded"), std::string::npos);
  EXPECT_TRUE(module.flavour.is_unknown());
}

TEST(LoadedModule, ReportsUnknownWhenVersionFileIsUnreadable) {
  const ScratchTree tree;
  tree.broken("/sys/module/nvidia/version");
  EXPECT_EQ(read_loaded_module(tree.root()).version.why().code, ErrorCode::Malformed);
  tree.remove("/sys/module/nvidia/version");
  tree.fifo("/sys/module/nvidia/version");
  EXPECT_TRUE(read_loaded_module(tree.root()).version.is_unknown());
}

TEST(LoadedModule, DoesNotTakeAnOddVersionForADriver) {
  const ScratchTree tree;
  tree.write("/sys/module/nvidia/version", "550.90.07-rc1\n");
  tree.write("/proc/driver/nvidia/version", kProprietary);
  EXPECT_EQ(read_loaded_module(tree.root()).version.why().code, ErrorCode::Malformed);
}

TEST(LoadedModule, IsAbsentWhenSysfsListsModulesAndNoNvidia) {
  const ScratchTree tree;
  tree.write("/sys/module/nvidia_uvm/initstate", "live\n");
  const auto module = read_loaded_module(tree.root());
  EXPECT_TRUE(module.version.is_absent());
  EXPECT_EQ(module.version.source(), "/sys/module");
  EXPECT_TRUE(module.flavour.is_absent());
}

TEST(LoadedModule, IsAbsentWhenTheListOfModulesHasNoNvidia) {
  const ScratchTree tree;
  // Talos: a kernel without module unloading has '-' for a count.
  tree.write("/proc/modules", "mlx4_ib 274432 - - Live 0x0\nnvidiafb 4096 0 - Live 0x0\n");
  const auto module = read_loaded_module(tree.root());
  EXPECT_TRUE(module.version.is_absent());
  EXPECT_EQ(module.version.source(), "/proc/modules");
}

TEST(LoadedModule, IsUnknownWhenTheListNamesItAndSysfsIsNotThere) {
  const ScratchTree tree;
  tree.write("/proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 14000000 3 nvidia_uvm, Live 0x0 (OE)\n");
  EXPECT_TRUE(read_loaded_module(tree.root()).version.is_unknown());
}

TEST(LoadedModule, IsUnknownWhenNothingProvesItsAbsence) {
  const ScratchTree tree;
  EXPECT_TRUE(read_loaded_module(tree.root()).version.is_unknown());
  tree.directory("/sys/module");  // an empty mount point is no sysfs
  EXPECT_TRUE(read_loaded_module(tree.root()).version.is_unknown());
}

TEST(LoadedModule, TakesTheFlavourFromTheTaintWithoutProc) {
  const ScratchTree tree;
  tree.write("/sys/module/nvidia/version", "580.142\n");
  tree.write("/sys/module/nvidia/taint", "OE\n");
  EXPECT_EQ(*read_loaded_module(tree.root()).flavour, ModuleFlavour::Open);
  tree.write("/sys/module/nvidia/taint", "POE\n");
  EXPECT_EQ(*read_loaded_module(tree.root()).flavour, ModuleFlavour::Proprietary);
  tree.write("/sys/module/nvidia/taint", "\n");
  EXPECT_TRUE(read_loaded_module(tree.root()).flavour.is_unknown());
}

TEST(LoadedModule, DoesNotTakeAJetsonsReleaseForADriver) {
  const auto module = read_loaded_module(host_fixture("jetson"));
  ASSERT_TRUE(module.version.is_unknown());
  EXPECT_EQ(module.version.why().code, ErrorCode::Unsupported);
  EXPECT_EQ(*module.flavour, ModuleFlavour::Open);
}

}  // namespace
}  // namespace gpuskew
