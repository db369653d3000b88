#include "agent/probes/driver_container.h"

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

TEST(DriverContainer, IsMountedWhenItsFileSystemIsThere) {
  const ScratchTree tree;
  tree.directory("/run/nvidia/driver/usr");
  tree.write("/run/nvidia/nvidia-driver.pid", "4120\n");
  EXPECT_EQ(*read_driver_container(tree.root()), (DriverContainer{"/run/nvidia/driver", true}));
}

TEST(DriverContainer, IsAtWorkWhenOnlyItsPidFileIsThere) {
  const ScratchTree tree;
  tree.directory("/run/nvidia/driver");  // the mount point stays behind
  tree.write("/run/nvidia/nvidia-driver.pid", "4120\n");
  const auto fact = read_driver_container(tree.root());
  EXPECT_EQ(*fact, (DriverContainer{"/run/nvidia/driver", false}));
  EXPECT_EQ(fact.source(), "/run/nvidia/nvidia-driver.pid");
}

TEST(DriverContainer, IsAbsentWhenNeitherIsThere) {
  const ScratchTree tree;
  tree.directory("/run/nvidia/driver");
  EXPECT_TRUE(read_driver_container(tree.root()).is_absent());
}

TEST(DriverContainer, IsUnknownWhereRunIsNotMounted) {
  const ScratchTree tree;
  EXPECT_TRUE(read_driver_container(tree.root()).is_unknown());
  tree.directory("/run");
  EXPECT_TRUE(read_driver_container(tree.root()).is_unknown());
}

TEST(DriverContainer, IsUnknownWhenItCanNotBeLookedAt) {
  const ScratchTree tree;
  tree.broken("/run/nvidia");
  EXPECT_TRUE(read_driver_container(tree.root()).is_unknown());
}

}  // namespace
}  // namespace gpuskew
