#include "agent/probes/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "core/snapshot.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

class DeviceNodesTest : public ::testing::Test {
 protected:
  // False where this process may not make device nodes.
  bool node(const std::string& name, unsigned major_number, unsigned minor_number) const {
    tree_.directory(name.find('/') == std::string::npos ? "/dev" : "/dev/" + name.substr(0, name.find('/')));
    const std::string path = (tree_.path() / "dev" / name).string();
    return ::mknod(path.c_str(), S_IFCHR | 0600, makedev(major_number, minor_number)) == 0;
  }
  Fact<std::vector<DeviceNode>> read() const { return read_device_nodes(tree_.root()); }

  ScratchTree tree_;
};

TEST(DeviceNames, AreThoseTheDriverGives) {
  for (const char* name :
       {"nvidia0", "nvidia15", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-nvswitch3",
        "nvidia-nvswitchctl", "nvidia-caps/nvidia-cap12", "nvidia-caps-imex-channels/channel0"}) {
    EXPECT_TRUE(is_nvidia_device_name(name)) << name;
  }
  for (const char* name : {"", "nvidia", "nvidia-", "nvidiaX", "nvidia0/x", "nvidia-docker/x.log", "nvidia-caps",
                           "nvidia 0", "nvidia-uvm2", "nvidia1234567890", "dri/card0"}) {
    EXPECT_FALSE(is_nvidia_device_name(name)) << name;
  }
}

TEST_F(DeviceNodesTest, SayWhatTheyStandFor) {
  if (!node("nvidia0", 195, 0)) {
    GTEST_SKIP() << "no device nodes can be made here";
  }
  ASSERT_TRUE(node("nvidiactl", 195, 255));
  ASSERT_TRUE(node("nvidia-caps/nvidia-cap1", 234, 1));
  ASSERT_TRUE(node("null", 1, 3));
  const auto fact = read();
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(*fact,
            (std::vector<DeviceNode>{
                {"/dev/nvidia0", 195, 0}, {"/dev/nvidiactl", 195, 255}, {"/dev/nvidia-caps/nvidia-cap1", 234, 1}}));
  EXPECT_EQ(fact.source(), "/dev");
}

TEST_F(DeviceNodesTest, AreNoFilesDirectoriesOrLinksOfSuchAName) {
  tree_.write("/dev/nvidia0", "");
  tree_.directory("/dev/nvidia-uvm");
  tree_.link("/dev/nvidiactl", "null");
  tree_.fifo("/dev/nvidia-modeset");
  const auto fact = read();
  ASSERT_TRUE(fact.is_known());
  EXPECT_TRUE(fact->empty());
}

TEST_F(DeviceNodesTest, AreUnknownWithoutDev) {
  EXPECT_TRUE(read().is_unknown());
  tree_.directory("/dev");
  EXPECT_EQ(read().why().what, "listing /dev: empty, so devtmpfs is not there");
}

TEST_F(DeviceNodesTest, AreUnknownWhenTheirFolderCanNotBeRead) {
  tree_.broken("/dev/nvidia-caps");
  const auto fact = read();
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.source(), "/dev/nvidia-caps");
}

TEST_F(DeviceNodesTest, AreUnknownPastTheirLimit) {
  if (!node("nvidia0", 195, 0)) {
    GTEST_SKIP() << "no device nodes can be made here";
  }
  for (unsigned at = 1; at <= Snapshot::kMaxDeviceNodes; ++at) {
    ASSERT_TRUE(node("nvidia" + std::to_string(at), 195, at));
  }
  EXPECT_EQ(read().why().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
