#include "agent/probes/kernel_modules.h"

#include <string>

#include <gtest/gtest.h>

#include "core/snapshot.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
constexpr Time kNow = from_unix_ms(1'796'054'400'000);

KernelModule only_module(std::string_view text) {
  const auto modules = parse_kernel_modules(text).value();
  return modules.size() == 1 ? modules.front() : KernelModule{};
}

TEST(KernelModules, SayWhoUsesThemAndHowOften) {
  const KernelModule module =
      only_module("nvidia 62795776 236 nvidia_uvm,nvidia_modeset,[permanent], Live 0xffffffffc0a00000 (POE)\n");
  EXPECT_EQ(module.name, "nvidia");
  EXPECT_EQ(module.refcount, 236U);
  EXPECT_EQ(module.used_by, (std::vector<std::string>{"nvidia_uvm", "nvidia_modeset"}));
  EXPECT_EQ(module.state, ModuleState::Live);
  EXPECT_EQ(module.taints, "POE");
  EXPECT_EQ(module.state_since, Time{});
}

TEST(KernelModules, AreThoseOfGpusOnly) {
  const auto modules = parse_kernel_modules(
      "nvidiafb 61440 0 - Live 0x0000000000000000\n"
      "nvidia_cspmu 20480 0 - Live 0x0000000000000000\n"
      "nvidia_drm 118784 2 - Live 0x0000000000000000 (POE)\n"
      "nouveau 2347008 0 - Live 0x0000000000000000\n"
      "nova_core 40960 0 - Live 0x0000000000000000\n"
      "vfio_pci 16384 0 - Live 0x0000000000000000\n"
      "quirk_nvidia_hda_pm 1 0 - Live 0x0000000000000000\n"
      "ext4 999424 1 - Live 0x0000000000000000\n");
  ASSERT_EQ(modules->size(), 4U);
  EXPECT_EQ(modules->at(0).name, "nvidia_drm");
  EXPECT_EQ(modules->at(1).name, "nouveau");
  EXPECT_EQ(modules->at(2).name, "nova_core");
  EXPECT_EQ(modules->at(3).name, "vfio_pci");
}

TEST(KernelModules, HaveNoReferenceCountWhereTheKernelTellsNone) {
  EXPECT_EQ(only_module("nvidia 274432 - - Live 0xffffffffc0664000").refcount, std::nullopt);
  EXPECT_EQ(only_module("nvidia 274432 -1 - Unloading 0x0 (OE-)").refcount, std::nullopt);
  EXPECT_EQ(only_module("nvidia 274432 99999999999 - Live 0x0").refcount, std::nullopt);
  EXPECT_TRUE(only_module("nvidia 274432 - - Live 0xffffffffc0664000").used_by.empty());
}

TEST(KernelModules, HaveTheStatesTheKernelKnowsAndNoOther) {
  EXPECT_EQ(only_module("nvidia 1 0 - Loading 0x0 (OE+)").state, ModuleState::Loading);
  EXPECT_EQ(only_module("nvidia 1 0 - Unloading 0x0 (OE-)").state, ModuleState::Unloading);
  EXPECT_EQ(only_module("nvidia 1 0 - Sleeping 0x0").state, ModuleState::Unknown);
  EXPECT_EQ(only_module("nvidia 1 -1 - Unloading 0x0 (OE-)").taints, "OE-");
}

TEST(KernelModules, AreUnknownWhenALineThatCountsIsCutShort) {
  EXPECT_EQ(parse_kernel_modules("nvidia 62795776 2").error().what,
            "reading /proc/modules: the line of module nvidia has no state");
  EXPECT_TRUE(parse_kernel_modules("ext4 62795776 2").has_value());
}

TEST(KernelModules, AreUnknownPastTheirLimit) {
  std::string text;
  for (std::size_t at = 0; at <= Snapshot::kMaxModules; ++at) {
    text += "nvidia 1 0 - Live 0x0\n";
  }
  EXPECT_EQ(parse_kernel_modules(text).error().code, ErrorCode::TooLarge);
}

TEST(KernelModules, TakeNothingFromNonsense) {
  EXPECT_TRUE(parse_kernel_modules(std::string(1 << 20, 'x'))->empty());
  EXPECT_TRUE(parse_kernel_modules(std::string(4096, '\0'))->empty());
  EXPECT_TRUE(parse_kernel_modules("\n\n \n")->empty());
  const KernelModule module = only_module("nvidia 1 0 nvi\033dia,\xff\xff,good, Live 0x0 (\033[1m)");
  EXPECT_EQ(module.used_by, (std::vector<std::string>{"good"}));
  EXPECT_EQ(module.taints, "");
}

class ModuleStatesTest : public ::testing::Test {
 protected:
  Fact<std::vector<KernelModule>> read(const char* line, Time now) {
    tree_.write("/proc/modules", line);
    return read_kernel_modules(tree_.root(), states_, now);
  }
  Time since(const char* line, Time now) { return read(line, now)->at(0).state_since; }

  ScratchTree tree_;
  ModuleStates states_;
};

TEST_F(ModuleStatesTest, KeepWhenAModuleBeganToUnload) {
  EXPECT_EQ(since("nvidia_uvm 1 0 - Live 0x0", kNow), Time{});
  EXPECT_EQ(since("nvidia_uvm 1 -1 - Unloading 0x0", kNow + 15s), kNow + 15s);
  EXPECT_EQ(since("nvidia_uvm 1 -1 - Unloading 0x0", kNow + 30s), kNow + 15s);
}

TEST_F(ModuleStatesTest, BeginAnewWhenTheStateChanges) {
  EXPECT_EQ(since("nvidia 1 0 - Loading 0x0", kNow), kNow);
  EXPECT_EQ(since("nvidia 1 0 - Unloading 0x0", kNow + 15s), kNow + 15s);
  EXPECT_EQ(since("nvidia 1 0 - Live 0x0", kNow + 30s), Time{});
  EXPECT_EQ(since("nvidia 1 0 - Unloading 0x0", kNow + 45s), kNow + 45s);
}

TEST_F(ModuleStatesTest, BeginAnewWithAModuleThatWentAndCameAgain) {
  tree_.directory("/sys/module/nvidia");
  EXPECT_EQ(since("nvidia 1 0 - Loading 0x0", kNow), kNow);
  tree_.remove("/sys/module/nvidia");
  tree_.directory("/sys/module/other");  // so that the file system does not give the same number again
  tree_.directory("/sys/module/nvidia");
  EXPECT_EQ(since("nvidia 1 0 - Loading 0x0", kNow + 15s), kNow + 15s);
}

TEST_F(ModuleStatesTest, DoNotLieInTheFutureAfterTheClockWasSetBack) {
  EXPECT_EQ(since("nvidia 1 0 - Unloading 0x0", kNow), kNow);
  EXPECT_EQ(since("nvidia 1 0 - Unloading 0x0", kNow - 1h), kNow - 1h);
}

TEST_F(ModuleStatesTest, AreReadFromAListThatIsThereAndEmpty) {
  const auto modules = read("", kNow);
  ASSERT_TRUE(modules.is_known());
  EXPECT_TRUE(modules->empty());
  EXPECT_EQ(modules.source(), "/proc/modules");
}

TEST_F(ModuleStatesTest, AreNoneOnAKernelWithoutModules) {
  tree_.directory("/sys/module/kernel");
  const auto modules = read_kernel_modules(tree_.root(), states_, kNow);
  ASSERT_TRUE(modules.is_known());
  EXPECT_EQ(modules.source(), "/sys/module");
  tree_.directory("/sys/module/nvidia");
  EXPECT_TRUE(read_kernel_modules(tree_.root(), states_, kNow).is_unknown());
}

TEST_F(ModuleStatesTest, AreUnknownWithoutAList) {
  EXPECT_TRUE(read_kernel_modules(tree_.root(), states_, kNow).is_unknown());
  tree_.directory("/sys/module");
  EXPECT_TRUE(read_kernel_modules(tree_.root(), states_, kNow).is_unknown());
  tree_.fifo("/proc/modules");
  tree_.directory("/sys/module/kernel");
  EXPECT_TRUE(read_kernel_modules(tree_.root(), states_, kNow).is_unknown());
}

TEST_F(ModuleStatesTest, AreUnknownPastAMebibyteOfList) {
  tree_.write("/proc/modules", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(read_kernel_modules(tree_.root(), states_, kNow).why().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
