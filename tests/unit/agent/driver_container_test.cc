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

TEST(DriverContainer, IsNotAtWorkWhenTheProcessOfItsPidFileIsGone) {
  const ScratchTree tree;
  tree.write("/run/nvidia/nvidia-driver.pid", "4120\n");
  tree.write("/proc/stat", "cpu 1\n");
  EXPECT_TRUE(read_driver_container(tree.root()).is_absent());
  tree.directory("/proc/4120");
  EXPECT_EQ(*read_driver_container(tree.root()), (DriverContainer{"/run/nvidia/driver", false}));
  tree.remove("/proc/4120");
  tree.directory("/run/nvidia/driver/usr");
  EXPECT_EQ(*read_driver_container(tree.root()), (DriverContainer{"/run/nvidia/driver", true}));
}

TEST(DriverContainer, IsAtWorkWhenItsPidFileNamesNoProcessOrProcessesCanNotBeSeen) {
  const ScratchTree tree;
  tree.write("/run/nvidia/nvidia-driver.pid", "4120\n");
  EXPECT_TRUE(read_driver_container(tree.root()).is_known()) << "no /proc";
  tree.write("/proc/stat", "cpu 1\n");
  tree.broken("/proc/4120");
  EXPECT_TRUE(read_driver_container(tree.root()).is_known());
  for (const char* text : {"", "\n", "0\n", "-1\n", "x4119\n", "4119x\n", "99999999999999999999\n"}) {
    tree.remove("/run/nvidia/nvidia-driver.pid");
    tree.write("/run/nvidia/nvidia-driver.pid", text);
    EXPECT_TRUE(read_driver_container(tree.root()).is_known()) << text;
  }
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
