#include "agent/probes/package_names.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using enum InstallKind;
using enum InstallPart;

TEST(DebRole, IsThatOfEachPartOfTheDriver) {
  for (const char* name : {"nvidia-driver-550", "nvidia-driver-550-server-open", "nvidia-driver", "nvidia-headless-535",
                           "nvidia-headless-no-dkms-535-server", "libnvidia-compute-460", "libcuda1", "nvidia-open",
                           "nvidia-open-570", "cuda-drivers", "cuda-drivers-550", "nvidia-utils-550",
                           "nvidia-tesla-470-driver", "nvidia-legacy-390xx-driver"}) {
    EXPECT_EQ(deb_role(name), (PackageRole{Deb, UserSpace})) << name;
  }
  for (const char* name : {"nvidia-dkms-550", "nvidia-dkms-550-open", "nvidia-kernel-dkms", "nvidia-open-kernel-dkms",
                           "nvidia-kernel-open-dkms", "nvidia-tesla-470-kernel-dkms"}) {
    EXPECT_EQ(deb_role(name), (PackageRole{Deb, KernelModule})) << name;
  }
  for (const char* name :
       {"linux-modules-nvidia-580-open-6.17.0-1014-nvidia", "linux-objects-nvidia-550-6.8.0-52-generic",
        "linux-modules-nvidia-550-server-generic-hwe-22.04"}) {
    EXPECT_EQ(deb_role(name), (PackageRole{Prebuilt, KernelModule})) << name;
  }
  EXPECT_EQ(deb_role("nvidia-fabricmanager-460"), (PackageRole{Deb, FabricManager}));
  EXPECT_EQ(deb_role("nvidia-fabricmanager"), (PackageRole{Deb, FabricManager}));
}

TEST(DebRole, IsNoneOfWhatOnlyHasNvidiaInItsName) {
  for (const char* name : {"nvidia-container-toolkit",
                           "libnvidia-container1",
                           "nvidia-settings",
                           "nvidia-prime",
                           "nvidia-modprobe",
                           "nvidia-driver-local-repo-ubuntu2204-550.54.15",
                           "nvidia-driver-assistant",
                           "nvidia-driver-pinning-550",
                           "linux-modules-nvidia-fs-6.8.0-52-generic",
                           "linux-image-6.17.0-1014-nvidia",
                           "linux-modules-6.17.0-1014-nvidia",
                           "nvidia-fabricmanager-dev-550",
                           "cuda-drivers-fabricmanager-550",
                           "nvidia-cuda-toolkit",
                           "nvidia-fs-dkms",
                           "nvidia-l4t-core",
                           "xserver-xorg-video-nouveau",
                           "libnvidia-compute",
                           "nvidia-kernel-source-550",
                           ""}) {
    EXPECT_EQ(deb_role(name), std::nullopt) << name;
  }
}

TEST(RpmRole, IsThatOfEachPartOfTheDriver) {
  for (const char* name :
       {"nvidia-driver", "nvidia-driver-cuda-libs", "nvidia-driver-NVML", "nvidia-driver-latest-dkms",
        "xorg-x11-drv-nvidia-cuda-libs", "nvidia-compute-G06", "nvidia-compute-utils-G06", "nvidia-open",
        "cuda-drivers", "cuda-drivers-550", "libnvidia-ml"}) {
    EXPECT_EQ(rpm_role(name), (PackageRole{Rpm, UserSpace})) << name;
  }
  for (const char* name : {"kmod-nvidia-latest-dkms", "kmod-nvidia-open-dkms", "dkms-nvidia"}) {
    EXPECT_EQ(rpm_role(name), (PackageRole{Rpm, KernelModule})) << name;
  }
  for (const char* name : {"akmod-nvidia", "akmod-nvidia-470xx", "akmod-nvidia-open"}) {
    EXPECT_EQ(rpm_role(name), (PackageRole{Akmod, KernelModule})) << name;
  }
  for (const char* name :
       {"kmod-nvidia", "kmod-nvidia-5.17.5-300.fc36.x86_64", "kmod-nvidia-550.54.15-5.14.0-362.24.1",
        "nvidia-open-driver-G06-signed-kmp-default", "nvidia-gfxG05-kmp-default", "nv-prefer-signed-open-driver"}) {
    EXPECT_EQ(rpm_role(name), (PackageRole{Kmod, KernelModule})) << name;
  }
  EXPECT_EQ(rpm_role("nvidia-fabric-manager"), (PackageRole{Rpm, FabricManager}));
  EXPECT_EQ(rpm_role("nvidia-fabricmanager-550"), (PackageRole{Rpm, FabricManager}));
}

TEST(RpmRole, IsNoneOfWhatOnlyHasNvidiaInItsName) {
  for (const char* name : {"nvidia-container-toolkit", "nvidia-persistenced", "nvidia-settings", "nvidia-driver-devel",
                           "nvidia-driver-local-repo-rhel9-550.54.15", "nvidia-driver-assistant", "nvidia-fs-dkms",
                           "kmod-nvidia-fs-dkms", "kmod-nvidia-common", "nvidia-kmod-common",
                           "nvidia-fabric-manager-devel", "dkms", "xorg-x11-drv-nouveau", ""}) {
    EXPECT_EQ(rpm_role(name), std::nullopt) << name;
  }
}

TEST(PackageText, IsPlainOrNone) {
  EXPECT_TRUE(is_plain_package_text("nvidia-driver-550"));
  EXPECT_TRUE(is_plain_package_text("3:550.90.07-1~deb12u1+b1^git"));
  EXPECT_FALSE(is_plain_package_text(""));
  EXPECT_FALSE(is_plain_package_text("nvidia driver"));
  EXPECT_FALSE(is_plain_package_text("x\x1b[2J"));
  EXPECT_FALSE(is_plain_package_text(std::string(129, 'a')));
}

}  // namespace
}  // namespace gpuskew
