#include "agent/probes/kubelet_checkpoint.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

Result<KubeletGrants> devices(const std::string& text) {
  std::istringstream file(text);
  return parse_device_checkpoint(file);
}

Result<KubeletGrants> claims(const std::string& text) {
  std::istringstream file(text);
  return parse_claim_state(file);
}

std::string entry(const std::string& pod, const std::string& resource, const std::string& ids) {
  return R"({"PodUID":")" + pod + R"(","ContainerName":"main","ResourceName":")" + resource + R"(","DeviceIDs":)" +
         ids + R"(,"AllocResp":"CkIKFk5WSURJQV9WSVNJQkxFX0RFVklDRVM="})";
}

std::string checkpoint(const std::string& entries, const std::string& registered = "{}") {
  return R"({"Data":{"PodDeviceEntries":)" + entries + R"(,"RegisteredDevices":)" + registered +
         R"(},"Checksum":1234567890})";
}

TEST(DeviceCheckpoint, CountsDevicesByNumaNode) {
  const auto grants =
      devices(checkpoint("[" + entry("uid-1", "nvidia.com/gpu", R"({"0":["GPU-a"],"1":["GPU-b","GPU-c"]})") + "]",
                         R"({"nvidia.com/gpu":["GPU-a","GPU-b","GPU-c","GPU-d"]})"));
  ASSERT_TRUE(grants.has_value()) << grants.error().what;
  EXPECT_EQ(grants->pods, (std::vector<PodDevices>{{"uid-1", "main", "nvidia.com/gpu", 3}}));
  EXPECT_EQ(grants->registered, (std::vector<PluginResource>{{"nvidia.com/gpu", 4}}));
}

TEST(DeviceCheckpoint, CountsTheDevicesOfAnOldList) {
  const auto grants = devices(checkpoint("[" + entry("uid-1", "nvidia.com/gpu", R"(["GPU-a","GPU-b"])") + "]"));
  EXPECT_EQ(grants->pods, (std::vector<PodDevices>{{"uid-1", "main", "nvidia.com/gpu", 2}}));
}

TEST(DeviceCheckpoint, LeavesOutWhatIsNotNvidias) {
  const auto grants = devices(checkpoint(
      "[" + entry("uid-1", "vendor.com/nic", R"({"-1":["eth0"]})") + "," +
          entry("uid-2", "amd.com/gpu", R"({"0":["0000:1b:00.0"]})") + "]",
      R"({"vendor.com/nic":["eth0"],"nvidia.com/mig-1g.10gb":["MIG-1","MIG-2"],"amd.com/gpu":["0000:1b:00.0"]})"));
  EXPECT_TRUE(grants->pods.empty());
  EXPECT_EQ(grants->registered, (std::vector<PluginResource>{{"nvidia.com/mig-1g.10gb", 2}}));
}

TEST(DeviceCheckpoint, KnowsNvidiasDevicesUnderAnotherSchedulersName) {
  const auto grants =
      devices(checkpoint("[" + entry("uid-1", "volcano.sh/vgpu-number", R"({"0":["GPU-a-0"]})") + "," +
                             entry("uid-2", "vendor.com/nic", R"({"0":["eth0"]})") + "]",
                         R"({"volcano.sh/vgpu-number":["GPU-a-0","GPU-a-1"],"vendor.com/nic":["eth0"]})"));
  EXPECT_EQ(grants->pods, (std::vector<PodDevices>{{"uid-1", "main", "volcano.sh/vgpu-number", 1}}));
  EXPECT_EQ(grants->registered, (std::vector<PluginResource>{{"volcano.sh/vgpu-number", 2}}));
}

TEST(DeviceCheckpoint, KeepsAResourceWhosePluginIsGoneAndHasNoDevice) {
  const auto grants = devices(checkpoint("null", R"({"nvidia.com/gpu":null,"nvidia.com/gpu.shared":[]})"));
  ASSERT_TRUE(grants.has_value()) << grants.error().what;
  EXPECT_EQ(grants->registered, (std::vector<PluginResource>{{"nvidia.com/gpu", 0}, {"nvidia.com/gpu.shared", 0}}));
}

TEST(DeviceCheckpoint, IsSortedWhateverOrderGoWroteItIn) {
  const auto grants = devices(checkpoint("[" + entry("uid-2", "nvidia.com/gpu", R"(["a"])") + "," +
                                         entry("uid-1", "nvidia.com/gpu", R"(["b"])") + "]"));
  EXPECT_EQ(grants->pods.front().pod_uid, "uid-1");
}

TEST(DeviceCheckpoint, IgnoresWhatLaterVersionsAdd) {
  EXPECT_TRUE(devices(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{},"New":[{"a":[1,2.5,true]}]},)"
                      R"("Checksum":1,"BootID":"x"})")
                  .has_value());
}

TEST(DeviceCheckpoint, IsMalformedWhenItIsNoCheckpoint) {
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("null"),
        std::string(R"({"Checksum":1})"), checkpoint("[" + entry("uid-1", "nvidia.com/gpu", R"(["GPU-a"])")),
        std::string(1 << 16, '\0'), std::string(1 << 16, '['), std::string("{\"Data\":{}} trailing"),
        std::string("{\"Data\":\"\xff\"}"), checkpoint("[" + entry("", "nvidia.com/gpu", R"(["GPU-a"])") + "]"),
        checkpoint("[" + entry("uid 1", "nvidia.com/gpu", R"(["GPU-a"])") + "]"),
        checkpoint("[]", R"({"nvidia.com/g\u0000pu":["GPU-a"]})")}) {
    EXPECT_EQ(devices(bad).error().code, ErrorCode::Malformed) << bad.substr(0, 200);
  }
}

TEST(DeviceCheckpoint, SaysWhereItIsNotJson) {
  EXPECT_EQ(devices(R"({"Data":x})").error().what, "not JSON, or cut short, at byte 9");
}

TEST(DeviceCheckpoint, IsTooLargePastItsLimit) {
  std::string entries;
  for (std::size_t at = 0; at <= kMaxGrants; ++at) {
    entries += (at == 0 ? "" : ",") + entry("uid-" + std::to_string(at), "nvidia.com/gpu", R"(["GPU-a"])");
  }
  EXPECT_EQ(devices(checkpoint("[" + entries + "]")).error().code, ErrorCode::TooLarge);
}

constexpr const char* kEntries =
    R"([{"ClaimUID":"c1","ClaimName":"n","Namespace":"d","PodUIDs":{"uid-1":{},"uid-2":{}},)"
    R"("DriverState":{"gpu.nvidia.com":{"Devices":[{"PoolName":"p","DeviceName":"gpu-0","RequestNames":["r"],)"
    R"("CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=x"]},{"PoolName":"p","DeviceName":"gpu-1","RequestNames":null}]}}},)"
    R"({"ClaimUID":"c2","PodUIDs":{"uid-3":{}},"DriverState":{"compute-domain.nvidia.com":{"Devices":[{}]}}},)"
    R"({"ClaimUID":"c3","PodUIDs":{"uid-4":{}},"DriverState":{"nic.example.com":{"Devices":[{}]}}}])";

const std::vector<PodDevices> kClaimed{{"uid-1", "", "gpu.nvidia.com", 2}, {"uid-2", "", "gpu.nvidia.com", 2}};

std::string quoted(const std::string& json) {
  std::string text = "\"";
  for (const char c : json) {
    text += c == '"' ? std::string("\\\"") : std::string(1, c);
  }
  return text + "\"";
}

TEST(ClaimState, NamesThePodsOfGpuClaims) {
  const std::string data = std::string(R"({"kind":"DRACheckpoint","Entries":)") + kEntries + "}";
  const auto grants = claims(R"({"Data":)" + quoted(data) + R"(,"Checksum":1597924435})");
  ASSERT_TRUE(grants.has_value()) << grants.error().what;
  EXPECT_EQ(grants->pods, kClaimed);
}

TEST(ClaimState, IsReadInItsOlderShapes) {
  EXPECT_EQ(claims(std::string(R"({"version":"v1","entries":)") + kEntries + R"(,"checksum":1})")->pods, kClaimed);
  EXPECT_EQ(claims(R"({"version":"v1","entries":[{"DriverName":"gpu.nvidia.com","PodUIDs":{"uid-1":{}}}]})")->pods,
            (std::vector<PodDevices>{{"uid-1", "", "gpu.nvidia.com", 0}}));
}

TEST(ClaimState, MayHoldNoClaim) {
  EXPECT_TRUE(claims(R"({"Data":"{\"Entries\":null}","Checksum":1})")->pods.empty());
}

TEST(ClaimState, IsMalformedWhenItIsNotJson) {
  EXPECT_EQ(claims("").error().code, ErrorCode::Malformed);
  EXPECT_EQ(claims(R"({"Data":"{","Checksum":1})").error().code, ErrorCode::Malformed);
}

}  // namespace
}  // namespace gpuskew
