#include "aggregator/cli/node_facts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/json.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

NodeFacts read(const Json& snapshot) {
  std::optional<Error> error;
  NodeFacts facts = read_node_facts(snapshot, error);
  EXPECT_FALSE(error) << error->what;
  return facts;
}

TEST(NodeFacts, AreAllUnknownForASnapshotThatReportsNothing) {
  const NodeFacts facts = read(to_json(Snapshot{}));
  for (const auto* fact : {&facts.kernel, &facts.os, &facts.driver, &facts.module_file, &facts.libraries,
                           &facts.driver_container, &facts.gpu_count, &facts.boot_id}) {
    EXPECT_TRUE(fact->is_unknown());
  }
  EXPECT_TRUE(facts.gpus.empty());
}

TEST(NodeFacts, TellModuleFileLibrariesAndContainerInWords) {
  Snapshot snapshot;
  const DriverVersion version = DriverVersion::parse("550.90.07").value();
  snapshot.module_file = Fact<ModuleFile>::known(
      ModuleFile{"/lib/modules/x/nvidia.ko", Fact<DriverVersion>::known(version, "modinfo")}, "/lib/modules/x");
  snapshot.libraries = Fact<std::vector<Library>>::known(
      {Library{"libcuda", version, "/usr/lib/libcuda.so", DriverRoot::Host},
       Library{"libnvidia-ml", version, "/run/nvidia/driver/x", DriverRoot::Container}},
      "/usr/lib");
  snapshot.driver_container = Fact<DriverContainer>::known(DriverContainer{"/run/nvidia/driver", true}, "mounts");
  snapshot.gpus = Fact<std::vector<Gpu>>::known({Gpu{"0000:3b:00.0", 0x20b0, Fact<std::string>::absent("pci")}}, "pci");
  const NodeFacts facts = read(to_json(snapshot));
  EXPECT_EQ(facts.module_file.value(), "550.90.07 at /lib/modules/x/nvidia.ko");
  EXPECT_EQ(facts.libraries.value(), "libcuda 550.90.07, libnvidia-ml 550.90.07 (driver container)");
  EXPECT_EQ(facts.driver_container.value(), "mounted at /run/nvidia/driver");
  EXPECT_EQ(facts.gpu_count.value(), "1");
  ASSERT_EQ(facts.gpus.size(), 1U);
  EXPECT_TRUE(facts.gpus[0].driver.is_absent());
}

TEST(NodeFacts, SayWhyAModuleFilesVersionIsUnknown) {
  Snapshot snapshot;
  snapshot.module_file = Fact<ModuleFile>::known(
      ModuleFile{"/m/nvidia.ko", Fact<DriverVersion>::unknown(Error{ErrorCode::Denied, "permission denied"}, "m")},
      "/m");
  EXPECT_EQ(read(to_json(snapshot)).module_file.value(), "/m/nvidia.ko, version unknown, because permission denied");
}

TEST(NodeFacts, TellNextKernelInstallersRuntimeAndKubeletInWords) {
  Snapshot snapshot;
  snapshot.next_kernel = Fact<NextKernel>::known(
      NextKernel{KernelRelease::parse("6.8.0-45-generic").value(), "first entry of grub.cfg"}, "grub.cfg");
  const InstallTrace deb{InstallKind::Deb, InstallPart::UserSpace, "nvidia-driver-550", "550", "dpkg"};
  const InstallTrace dkms{InstallKind::Dkms, InstallPart::KernelModule, "/var/lib/dkms/nvidia", "", "dkms"};
  snapshot.installs = Fact<std::vector<InstallTrace>>::known({deb, dkms, deb}, "dpkg");
  ContainerRuntime runtime;
  runtime.version = Fact<std::string>::known("1.7.24", "containerd");
  runtime.handlers = {{"nvidia", "", "a"}, {"nvidia-cdi", "", "a"}};
  snapshot.runtime = Fact<ContainerRuntime>::known(runtime, "config.toml");
  snapshot.kubelet = Fact<KubeletDevices>::known(KubeletDevices{{}, {{"nvidia.com/gpu", 8}}, {}}, "checkpoint");
  const NodeFacts facts = read(to_json(snapshot));
  EXPECT_EQ(facts.next_kernel.value(), "6.8.0-45-generic, by first entry of grub.cfg");
  EXPECT_EQ(facts.installs.value(), "2 deb, 1 dkms");
  EXPECT_EQ(facts.runtime.value(), "containerd 1.7.24, nvidia handlers: nvidia, nvidia-cdi");
  EXPECT_EQ(facts.kubelet.value(), "8 nvidia.com/gpu registered");
}

TEST(NodeFacts, TellNothingThereInWords) {
  Snapshot snapshot;
  snapshot.installs = Fact<std::vector<InstallTrace>>::known({}, "dpkg");
  ContainerRuntime runtime;
  runtime.version = Fact<std::string>::absent("containerd");
  snapshot.runtime = Fact<ContainerRuntime>::known(runtime, "config.toml");
  snapshot.kubelet = Fact<KubeletDevices>::known(KubeletDevices{}, "checkpoint");
  const NodeFacts facts = read(to_json(snapshot));
  EXPECT_EQ(facts.installs.value(), "no trace of an installer");
  EXPECT_EQ(facts.runtime.value(), "containerd without a daemon, no nvidia handler");
  EXPECT_EQ(facts.kubelet.value(), "no NVIDIA resource registered");
}

TEST(NodeFacts, OfAnOlderAggregatorAreUnknownAndNoError) {
  Json json = to_json(Snapshot{});
  for (const char* key : {"next_kernel", "installs", "runtime", "kubelet"}) {
    json.erase(key);
  }
  const NodeFacts facts = read(json);
  EXPECT_EQ(facts.runtime.why().what, "the aggregator is older than this fact");
}

TEST(NodeFacts, TellWhatCouldNotBeReadFromWhatTheAgentDoesNotKnowOf) {
  Snapshot snapshot;
  snapshot.dkms = Fact<std::vector<DkmsEntry>>::unknown(Error{ErrorCode::Denied, "permission denied"}, "/var/lib/dkms");
  snapshot.secure_boot = Fact<bool>::unknown(Error{ErrorCode::Unsupported, "no efivarfs"}, "/sys/firmware/efi");
  snapshot.kernel = Fact<KernelRelease>::unknown(Error{ErrorCode::Denied, "permission denied"}, "osrelease");
  const NodeFacts facts = read(to_json(snapshot));
  const std::vector<std::pair<std::string, std::string>> unread = {{"secure_boot", "no efivarfs"},
                                                                   {"dkms", "permission denied"}};
  EXPECT_EQ(facts.unread, unread) << "the kernel has a line of its own";
  EXPECT_EQ(facts.not_reported.size(), 29U);
}

TEST(NodeFacts, NameWhatIsWrong) {
  Json json = to_json(Snapshot{});
  json["libraries"] = Json::parse(R"({"state":"known","value":["x"],"source":"s"})");
  std::optional<Error> error;
  read_node_facts(json, error);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->what, "snapshot.libraries.value.name is missing");
}

}  // namespace
}  // namespace gpuskew
