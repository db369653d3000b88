#include "agent/probes/cgroup.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

const std::string kId(64, 'a');
const std::string kOtherId(64, '1');
constexpr const char* kUid = "0c1d7b1e-2f3a-4b5c-8d6e-7f8091a2b39e";
constexpr const char* kUnderscored = "0c1d7b1e_2f3a_4b5c_8d6e_7f8091a2b39e";

CgroupOwner owner(const std::string& path) {
  return parse_cgroup("0::" + path + "\n");
}

CgroupOwner in_pod(const std::string& id = kId) {
  return CgroupOwner{kUid, id, ""};
}

TEST(Cgroup, NamesThePodAndContainerOfTheSystemdDriver) {
  const std::string pod = std::string("/kubepods-burstable-pod") + kUnderscored + ".slice";
  const std::string slices = "/kubepods.slice/kubepods-burstable.slice" + pod;
  EXPECT_EQ(owner(slices + "/cri-containerd-" + kId + ".scope"), in_pod());
  EXPECT_EQ(owner(slices + "/crio-" + kId + ".scope"), in_pod());
  EXPECT_EQ(owner(slices + "/crio-" + kId + ".scope/container"), in_pod());
  EXPECT_EQ(owner(slices + "/docker-" + kId + ".scope"), in_pod());
  EXPECT_EQ(owner(slices), in_pod(""));
  EXPECT_EQ(
      owner(std::string("/kubepods.slice/kubepods-pod") + kUnderscored + ".slice/cri-containerd-" + kId + ".scope"),
      in_pod());
}

TEST(Cgroup, NamesThePodAndContainerOfTheCgroupfsDriver) {
  EXPECT_EQ(owner(std::string("/kubepods/besteffort/pod") + kUid + "/" + kId), in_pod());
  EXPECT_EQ(owner(std::string("/kubepods/pod") + kUid + "/" + kId), in_pod());
  EXPECT_EQ(owner(std::string("/kubepods/burstable/pod") + kUid + "/" + kId + "/nested/init"), in_pod());
}

TEST(Cgroup, NamesThePodWhereTheKubeletSpeaksSystemdAndContainerdDoesNot) {
  EXPECT_EQ(owner(std::string("/system.slice/containerd.service/kubepods-besteffort-pod") + kUnderscored +
                  ".slice:cri-containerd:" + kId),
            in_pod());
}

TEST(Cgroup, ReadsEveryHierarchyOfVersion1) {
  const std::string path = std::string("/kubepods/besteffort/pod") + kUid + "/" + kId;
  EXPECT_EQ(parse_cgroup("12:cpuset:/\n11:devices:" + path + "\n1:name=systemd:" + path + "\n0::/\n"), in_pod());
  EXPECT_EQ(parse_cgroup("5:devices:/docker/" + kOtherId + "\n4:memory:" + path + "\n"), in_pod());
}

TEST(Cgroup, ReadsPathsThatBeginOutsideTheReadersOwnNamespace) {
  EXPECT_EQ(owner(std::string("/../../kubepods-burstable.slice/kubepods-burstable-pod") + kUnderscored +
                  ".slice/cri-containerd-" + kId + ".scope"),
            in_pod());
  EXPECT_EQ(owner("/../../../system.slice/gdm.service").unit, "gdm.service");
  EXPECT_EQ(owner("/../cri-containerd-" + kId + ".scope"), (CgroupOwner{"", kId, ""}));
}

TEST(Cgroup, TakesTheInnermostOfContainersInContainers) {
  EXPECT_EQ(owner("/docker/" + kOtherId + "/kubelet/kubepods/besteffort/pod" + kUid + "/" + kId), in_pod());
  EXPECT_EQ(owner("/docker/" + kOtherId + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort-pod" +
                  kUnderscored + ".slice/cri-containerd-" + kId + ".scope"),
            in_pod());
  EXPECT_EQ(owner("/docker/" + kOtherId + "/kubepods/pod" + kUid), in_pod("")) << "the outer container is the node";
}

TEST(Cgroup, NamesContainersOutsidePods) {
  EXPECT_EQ(owner("/system.slice/docker-" + kId + ".scope"), (CgroupOwner{"", kId, ""}));
  EXPECT_EQ(owner("/docker/" + kId), (CgroupOwner{"", kId, ""}));
  EXPECT_EQ(owner("/machine.slice/libpod-" + kId + ".scope/container"), (CgroupOwner{"", kId, ""}));
}

TEST(Cgroup, NamesTheUnitOutsideContainers) {
  EXPECT_EQ(owner("/system.slice/nvidia-persistenced.service"), (CgroupOwner{"", "", "nvidia-persistenced.service"}));
  EXPECT_EQ(owner("/user.slice/user-1000.slice/user@1000.service/app.slice/app-steam.scope").unit, "app-steam.scope");
  EXPECT_EQ(parse_cgroup("3:memory:/other.service\n1:name=systemd:/system.slice/gdm.service\n").unit, "gdm.service");
  EXPECT_EQ(owner("/"), CgroupOwner{});
}

TEST(Cgroup, KeepsAStaticPodsUidAsItIs) {
  const std::string hash(32, 'b');
  EXPECT_EQ(
      owner("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + hash + ".slice/crio-" + kId + ".scope")
          .pod_uid,
      hash);
}

TEST(Cgroup, TakesNothingFromNonsense) {
  for (const std::string& text :
       {std::string(), std::string("\n:\n::\n0::\n"), std::string(1 << 16, '/'), std::string(1 << 16, '\0'),
        std::string("0::/kubepods/podnot-a-uid/x"), std::string("0::/kubepods/pod/") + std::string(64, 'g'),
        std::string("0::/podcast.slice/user.slice"), std::string("0::/evil\033[2J.service"),
        std::string("no colons")}) {
    EXPECT_EQ(parse_cgroup(text), CgroupOwner{}) << text.substr(0, 80);
  }
}

}  // namespace
}  // namespace gpuskew
