#include "agent/probes/installs.h"

#include <string>

#include <gtest/gtest.h>

#include "agent/probes/fabric_manager.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using enum InstallKind;
using enum InstallPart;

std::string installed(const std::string& package, const std::string& version) {
  return "Package: " + package + "\nStatus: install ok installed\nVersion: " + version + "\n\n";
}

// What the other probes say of a host on which nothing is.
struct Around {
  Fact<OsIdentity> os = Fact<OsIdentity>::known({"ubuntu", "22.04", "", "", "", ""}, "/etc/os-release");
  Fact<ModuleFile> module_file = Fact<ModuleFile>::absent("/lib/modules");
  Fact<std::vector<Library>> libraries = Fact<std::vector<Library>>::absent("/usr/lib");
  Fact<DriverContainer> container = Fact<DriverContainer>::absent("/run/nvidia/driver");

  Fact<InstallTraces> read(const ScratchTree& tree) const {
    return read_installs(tree.root(), {os, module_file, libraries, container}, nullptr);
  }
};

TEST(Installs, AreAllTracesOfAPackagedDriver) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("nvidia-driver-550", "550.90.07-0ubuntu1") +
                                         installed("nvidia-dkms-550", "550.90.07-0ubuntu1") + installed("bash", "5"));
  tree.directory("/var/lib/dkms/nvidia/550.90.07/5.15.0-119-generic/x86_64");
  tree.link("/var/lib/dkms/nvidia/kernel-5.15.0-119-generic-x86_64", "550.90.07/5.15.0-119-generic/x86_64");
  tree.directory("/var/lib/dkms/nvidia-fs/2.17.5");
  tree.write("/var/lib/dkms/dkms_dbversion", "2.0.0\n");
  const auto fact = Around().read(tree);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_EQ(*fact, (InstallTraces{{Deb, UserSpace, "nvidia-driver-550", "550.90.07-0ubuntu1", "/var/lib/dpkg/status"},
                                  {Deb, KernelModule, "nvidia-dkms-550", "550.90.07-0ubuntu1", "/var/lib/dpkg/status"},
                                  {Dkms, KernelModule, "/var/lib/dkms/nvidia", "550.90.07", "/var/lib/dkms"}}));
  EXPECT_EQ(fact.source(), "/var/lib/dpkg/status, /var/lib/dkms");
}

TEST(Installs, AreKnownToBeNoneWhereADatabaseSaysSo) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("bash", "5"));
  tree.directory("/var/lib/dkms/nvidia");  // an entry whose versions are gone
  const auto fact = Around().read(tree);
  ASSERT_TRUE(fact.is_known()) << fact.why().what;
  EXPECT_TRUE(fact->empty());
}

TEST(Installs, AreUnknownWithoutAPackageDatabase) {
  const ScratchTree tree;
  tree.write("/usr/bin/nvidia-uninstall", "");
  Around around;
  around.os = Fact<OsIdentity>::known({"arch", std::nullopt, "", "", "", ""}, "/etc/os-release");
  const auto fact = around.read(tree);
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().what, "neither dpkg's nor rpm's list of packages is there, and those of 'arch' are not read");
  around.os = Fact<OsIdentity>::unknown({ErrorCode::Denied, "permission denied"}, "/etc/os-release");
  EXPECT_TRUE(around.read(tree).is_unknown());
}

TEST(Installs, OfAnImageNeedNoPackageDatabase) {
  const ScratchTree tree;
  tree.write("/etc/os-release", "ID=cos\n");
  Around around;
  around.os = Fact<OsIdentity>::known({"cos", "121", "", "", "", ""}, "/etc/os-release");
  ASSERT_TRUE(around.read(tree).is_known());
  EXPECT_TRUE(around.read(tree)->empty());
}

TEST(Installs, AreUnknownWhenAnyPlaceCanNotBeLookedAt) {
  const std::vector<std::string> places = {"/var/lib/dkms", "/usr/bin/nvidia-uninstall", "/var/lib/rpm/rpmdb.sqlite",
                                           "/etc/flatcar/nvidia-metadata"};
  for (const std::string& place : places) {
    const ScratchTree tree;
    tree.write("/var/lib/dpkg/status", installed("bash", "5"));
    tree.broken(place);
    EXPECT_TRUE(Around().read(tree).is_unknown()) << place;
  }
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("bash", "5"));
  Around around;
  around.container = Fact<DriverContainer>::unknown({ErrorCode::Denied, "permission denied"}, "/run/nvidia/driver");
  EXPECT_TRUE(around.read(tree).is_unknown());
}

TEST(Installs, SeeTheContainerAtWorkAndMounted) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("bash", "5"));
  Around around;
  around.container = Fact<DriverContainer>::known({"/run/nvidia/driver", false}, "/run/nvidia/nvidia-driver.pid");
  ASSERT_EQ(around.read(tree)->size(), 1U);
  EXPECT_EQ(around.read(tree)->front().kind, Container);
  around.container = Fact<DriverContainer>::known({"/run/nvidia/driver", true}, "/run/nvidia/driver/usr");
  EXPECT_EQ(around.read(tree)->size(), 2U);
}

TEST(Installs, KnowAPrebuiltModuleByItsPath) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("bash", "5"));
  Around around;
  around.module_file =
      Fact<ModuleFile>::known({"/lib/modules/6.17.0-1014-nvidia/kernel/nvidia-580-open/nvidia.ko",
                               Fact<DriverVersion>::known(DriverVersion::parse("580.142").value(), "modinfo")},
                              "test");
  ASSERT_EQ(around.read(tree)->size(), 1U);
  EXPECT_EQ(around.read(tree)->front(),
            (InstallTrace{Prebuilt, KernelModule, "/lib/modules/6.17.0-1014-nvidia/kernel/nvidia-580-open/nvidia.ko",
                          "580.142", "/lib/modules/6.17.0-1014-nvidia/kernel/nvidia-580-open/nvidia.ko"}));
  tree.write("/var/lib/dpkg/status", installed("linux-modules-nvidia-580-open-6.17.0-1014-nvidia", "6.17.0-1014.14+1"));
  ASSERT_EQ(around.read(tree)->size(), 1U) << "once, by its package";
  EXPECT_EQ(around.read(tree)->front().source, "/var/lib/dpkg/status");
}

TEST(Installs, MoreThanTheirLimitAreUnknown) {
  const ScratchTree tree;
  std::string status;
  for (std::size_t i = 0; i <= kMaxInstallTraces; ++i) {
    status += installed("linux-modules-nvidia-550-6.8.0-" + std::to_string(i) + "-generic", "6.8.0");
  }
  tree.write("/var/lib/dpkg/status", status);
  EXPECT_EQ(Around().read(tree).why().code, ErrorCode::TooLarge);
}

// ---- fabric manager, which the same traces tell

Fact<DriverVersion> fabric_manager(const ScratchTree& tree, const Around& around = {}) {
  return read_fabric_manager(tree.root(), around.read(tree), around.container, nullptr);
}

TEST(FabricManagerVersion, IsThatOfItsPackage) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("nvidia-fabricmanager-460", "460.73.01-1"));
  EXPECT_EQ(fabric_manager(tree)->text(), "460.73.01");
  EXPECT_EQ(fabric_manager(tree).source(), "/var/lib/dpkg/status");
}

TEST(FabricManagerVersion, IsAbsentWithoutPackageAndProgram) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("bash", "5"));
  EXPECT_TRUE(fabric_manager(tree).is_absent());
  tree.write("/usr/bin/nv-fabricmanager", "a program");
  EXPECT_TRUE(fabric_manager(tree).is_unknown()) << "it is not run to tell its version";
}

TEST(FabricManagerVersion, OfTwoPackagesMustBeOne) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", installed("nvidia-fabricmanager-460", "460.73.01-1") +
                                         installed("nvidia-fabricmanager-470", "470.57.02-1"));
  EXPECT_TRUE(fabric_manager(tree).is_unknown());
  tree.write("/var/lib/dpkg/status", installed("nvidia-fabricmanager-460", "git"));
  EXPECT_TRUE(fabric_manager(tree).is_unknown());
}

TEST(FabricManagerVersion, OfAMountedContainerIsItsOwn) {
  const ScratchTree tree;
  Around around;
  around.container = Fact<DriverContainer>::known({"/run/nvidia/driver", true}, "/run/nvidia/driver/usr");
  tree.write("/var/lib/dpkg/status", installed("nvidia-fabricmanager-535", "535.54.03-1"));
  tree.directory("/run/nvidia/driver/usr");
  EXPECT_EQ(fabric_manager(tree, around)->text(), "535.54.03") << "the container has none: the host's";
  tree.write("/run/nvidia/driver/var/lib/dpkg/status", installed("nvidia-fabricmanager-550", "550.90.07-1"));
  EXPECT_EQ(fabric_manager(tree, around)->text(), "550.90.07");
  EXPECT_EQ(fabric_manager(tree, around).source(), "/run/nvidia/driver/var/lib/dpkg/status");
  tree.write("/run/nvidia/driver/var/lib/dpkg/status", "half a fi");
  EXPECT_TRUE(fabric_manager(tree, around).is_unknown());
}

TEST(FabricManagerVersion, IsUnknownWhereTheTracesAre) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", "half a fi");
  EXPECT_TRUE(fabric_manager(tree).is_unknown());
}

}  // namespace
}  // namespace gpuskew
