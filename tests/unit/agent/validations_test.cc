#include "agent/probes/validations.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

void set_time(const ScratchTree& tree, const std::string& file, std::int64_t seconds) {
  const std::string path = (tree.path() / file).string();
  const timespec times[2] = {{seconds, 0}, {seconds, 500'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(Validations, AreTheMarksWithTheirTimes) {
  const ScratchTree tree;
  tree.write("/run/nvidia/validations/driver-ready",
             "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\n");
  tree.write("/run/nvidia/validations/toolkit-ready", "");
  tree.write("/run/nvidia/validations/.driver-ctr-ready", "");
  set_time(tree, "run/nvidia/validations/toolkit-ready", 1'790'000'000);
  const auto marks = read_validations(tree.root());
  ASSERT_TRUE(marks.is_known());
  ASSERT_EQ(marks->size(), 3U);
  EXPECT_EQ(marks->at(0).name, ".driver-ctr-ready");
  EXPECT_EQ(marks->at(1).name, "driver-ready");
  EXPECT_TRUE(marks->at(1).host_driver);
  EXPECT_EQ(marks->at(2), (ValidationMark{"toolkit-ready", from_unix_ms(1'790'000'000'500), false}));
}

TEST(Validations, SayHostDriverOnlyInALineOfItsOwn) {
  for (const char* text : {"IS_HOST_DRIVER=false\n", "", "X_IS_HOST_DRIVER=true\n", "IS_HOST_DRIVER=trueish\n",
                           "NVIDIA_DRIVER_ROOT=/run/nvidia/driver\n"}) {
    const ScratchTree tree;
    tree.write("/run/nvidia/validations/driver-ready", text);
    EXPECT_FALSE(read_validations(tree.root())->front().host_driver) << text;
  }
}

TEST(Validations, AreAbsentWithoutTheirFolderAndEmptyInAnEmptyOne) {
  const ScratchTree tree;
  tree.directory("/run/systemd");
  EXPECT_TRUE(read_validations(tree.root()).is_absent());
  tree.directory("/run/nvidia/validations");
  EXPECT_TRUE(read_validations(tree.root())->empty());
}

TEST(Validations, AreUnknownWhereRunIsNotMountedOrCanNotBeRead) {
  const ScratchTree tree;
  EXPECT_TRUE(read_validations(tree.root()).is_unknown());
  tree.directory("/run");
  EXPECT_TRUE(read_validations(tree.root()).is_unknown());
  tree.broken("/run/nvidia");
  EXPECT_TRUE(read_validations(tree.root()).is_unknown());
}

TEST(Validations, AreUnknownWhenOneOfThemIsTooLongOrTheyAreTooMany) {
  const ScratchTree big;
  big.write("/run/nvidia/validations/driver-ready", std::string(1 << 20, 'x'));
  EXPECT_EQ(read_validations(big.root()).why().code, ErrorCode::TooLarge);
  const ScratchTree many;
  for (std::size_t i = 0; i <= kMaxValidationMarks; ++i) {
    many.write("/run/nvidia/validations/mark-" + std::to_string(i), "");
  }
  EXPECT_EQ(read_validations(many.root()).why().code, ErrorCode::TooLarge);
}

TEST(Validations, PassOverWhatTheValidatorDoesNotMake) {
  const ScratchTree tree;
  tree.fifo("/run/nvidia/validations/pipe");
  tree.directory("/run/nvidia/validations/folder");
  tree.link("/run/nvidia/validations/link", "nowhere");
  tree.write("/run/nvidia/validations/" + std::string(100, 'n'), "");
  EXPECT_TRUE(read_validations(tree.root())->empty());
}

}  // namespace
}  // namespace gpuskew
