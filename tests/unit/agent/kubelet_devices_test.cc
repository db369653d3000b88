#include "agent/probes/kubelet_devices.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kFolder = "/var/lib/kubelet/device-plugins";
constexpr const char* kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
constexpr const char* kOnePod =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"c","ResourceName":"nvidia.com/gpu",)"
    R"("DeviceIDs":{"0":["GPU-a"]},"AllocResp":""}],"RegisteredDevices":{"nvidia.com/gpu":["GPU-a","GPU-b"]}},"Checksum":1})";

class KubeletDevicesTest : public ::testing::Test {
 protected:
  Fact<KubeletDevices> read() { return cache_.read(tree_.root()); }
  void socket(const std::string& name) const {
    const std::string path = (tree_.path() / (kFolder + 1) / name).string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(fd);
  }

  ScratchTree tree_;
  KubeletCache cache_;
};

TEST_F(KubeletDevicesTest, AreWhatTheCheckpointAndTheSocketsSay) {
  tree_.write(kCheckpoint, kOnePod);
  socket("kubelet.sock");
  socket("nvidia-gpu.sock");
  socket("other.sock");
  tree_.write(std::string(kFolder) + "/nvidia-stale.sock", "a plain file");
  const auto fact = read();
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_EQ(fact->sockets, (std::vector<std::string>{"nvidia-gpu.sock"}));
  EXPECT_EQ(fact->registered, (std::vector<PluginResource>{{"nvidia.com/gpu", 2}}));
  EXPECT_EQ(fact->pods, (std::vector<PodDevices>{{"uid-1", "c", "nvidia.com/gpu", 1}}));
  EXPECT_EQ(fact.source(), kFolder);
  EXPECT_TRUE(cache_.pods_with_devices().contains("uid-1"));
}

TEST_F(KubeletDevicesTest, AreUnknownWhereTheHostsStateIsNotMounted) {
  EXPECT_TRUE(read().is_unknown());
  tree_.directory("/var/lib");
  EXPECT_EQ(read().why().what, "/var/lib is empty, as where it is not mounted");
}

TEST_F(KubeletDevicesTest, AreAbsentWithoutAKubelet) {
  tree_.directory("/var/lib/dpkg");
  const auto fact = read();
  EXPECT_TRUE(fact.is_absent());
  EXPECT_EQ(fact.source(), kFolder);
}

TEST_F(KubeletDevicesTest, AreKnownToBeNoneBeforeTheFirstCheckpoint) {
  tree_.directory(kFolder);
  const auto fact = read();
  ASSERT_TRUE(fact.is_known());
  EXPECT_EQ(*fact, KubeletDevices{});
}

TEST_F(KubeletDevicesTest, AreFoundWhereMicroK8sHasThem) {
  tree_.write("/var/snap/microk8s/common/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", kOnePod);
  EXPECT_EQ(read()->pods.size(), 1U);
}

TEST_F(KubeletDevicesTest, CountClaimsToo) {
  tree_.write(kCheckpoint, kOnePod);
  tree_.write("/var/lib/kubelet/dra_manager_state",
              R"({"entries":[{"DriverName":"gpu.nvidia.com","PodUIDs":{"uid-2":{}}}]})");
  EXPECT_EQ(read()->pods.size(), 2U);
  EXPECT_TRUE(cache_.pods_with_devices().contains("uid-2"));
}

TEST_F(KubeletDevicesTest, AreUnknownWhenAFileCanNotBeRead) {
  tree_.write(kCheckpoint, "{");
  EXPECT_EQ(read().why().what, std::string("reading ") + kCheckpoint + ": not JSON, or cut short, at byte 2");
  tree_.remove(kCheckpoint);
  tree_.fifo(kCheckpoint);
  EXPECT_TRUE(read().is_unknown());
  tree_.remove(kCheckpoint);
  tree_.broken("/var/lib/kubelet/dra_manager_state");
  EXPECT_TRUE(read().is_unknown());
  EXPECT_TRUE(cache_.pods_with_devices().empty());
}

TEST_F(KubeletDevicesTest, AreUnknownWhenTheDirectoryCanNotBeRead) {
  tree_.broken(kFolder);
  EXPECT_TRUE(read().is_unknown());
}

TEST_F(KubeletDevicesTest, AreReadAgainWhenTheFileIsAnother) {
  tree_.write(kCheckpoint, kOnePod);
  EXPECT_EQ(read()->pods.size(), 1U);
  EXPECT_EQ(read()->pods.size(), 1U);
  tree_.write(kCheckpoint, R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
  EXPECT_TRUE(read()->pods.empty());
  tree_.remove(kCheckpoint);
  EXPECT_TRUE(read()->registered.empty());
}

TEST_F(KubeletDevicesTest, AreUnknownPastTheLimitOfTheFile) {
  tree_.write(kCheckpoint, R"({"Data":{},"Junk":")" + std::string(kMaxCheckpoint, 'x') + "\"}");
  const auto fact = read();
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().code, ErrorCode::TooLarge);
}

TEST_F(KubeletDevicesTest, ShowAtMostTheirLimitAndKnowEveryPod) {
  std::string entries;
  for (std::size_t at = 0; at < KubeletDevices::kMaxItems + 10; ++at) {
    entries += std::string(at == 0 ? "" : ",") + R"({"PodUID":"uid-)" + std::to_string(at) +
               R"(","ContainerName":"c","ResourceName":"nvidia.com/gpu","DeviceIDs":["GPU-a"]})";
  }
  tree_.write(kCheckpoint, R"({"Data":{"PodDeviceEntries":[)" + entries + R"(],"RegisteredDevices":{}}})");
  EXPECT_EQ(read()->pods.size(), KubeletDevices::kMaxItems);
  EXPECT_EQ(cache_.pods_with_devices().size(), KubeletDevices::kMaxItems + 10);
}

}  // namespace
}  // namespace gpuskew
