#include "agent/probes/os_image.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

Fact<OsIdentity> os(const std::string& id) {
  return Fact<OsIdentity>::known({id, "1", "", "", "", ""}, "/etc/os-release");
}

InstallTraces image(const ScratchTree& tree, const std::string& id, const std::string& library = "") {
  const auto libraries = Fact<std::vector<Library>>::known(
      library.empty() ? std::vector<Library>{}
                      : std::vector<Library>{{"libcuda", DriverVersion::parse("535.183.01").value(), library}},
      "test");
  return read_os_image_traces(tree.root(), os(id), libraries).value();
}

TEST(OsImage, OfContainerOptimizedOsIsWhereItsLibrariesAre) {
  const ScratchTree tree;
  tree.directory("/home/kubernetes/bin/nvidia");
  EXPECT_TRUE(image(tree, "cos").empty()) << "pods that mount the folder make it";
  tree.directory("/home/kubernetes/bin/nvidia/lib64");
  const InstallTraces traces = image(tree, "cos", "/home/kubernetes/bin/nvidia/lib64/libcuda.so.535.183.01");
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].kind, InstallKind::OsImage);
  EXPECT_EQ(traces[0].version, "535.183.01");
}

TEST(OsImage, PlacesOfOneSystemMeanNothingOnAnother) {
  const ScratchTree tree;
  tree.directory("/usr/lib/nvidia/tesla");  // Debian's alternatives
  tree.directory("/var/lib/nvidia/lib64");
  EXPECT_TRUE(image(tree, "debian").empty());
  EXPECT_EQ(image(tree, "bottlerocket").size(), 2U);
  EXPECT_EQ(image(tree, "cos").front().name, "/var/lib/nvidia/lib64");
}

TEST(OsImage, OfTalosIsItsExtensions) {
  const ScratchTree tree;
  tree.write("/etc/extensions.yaml",
             "layers:\n    - image: 000.ghcr.io-siderolabs-nonfree-kmod-nvidia-lts-535.247.01-v1.10.3.sqsh\n"
             "      metadata:\n        name: nonfree-kmod-nvidia-lts\n        version: 535.247.01-v1.10.3\n"
             "        author: Sidero Labs\n        description: |\n            nvidia\n        compatibility:\n"
             "            talos:\n                version: '>= v1.2.0'\n"
             "    - image: 001.sqsh\n      metadata:\n        name: nvidia-container-toolkit-lts\n"
             "        version: 535.247.01-v1.17.6\n    - image: 002.sqsh\n      metadata:\n        name: gvisor\n"
             "        version: 20250407.0\n    - image: 003.sqsh\n      metadata:\n"
             "        name: \"nvidia-fabricmanager-lts\"\n        version: 535.247.01\n");
  EXPECT_EQ(image(tree, "talos"),
            (InstallTraces{{InstallKind::OsImage, InstallPart::KernelModule, "nonfree-kmod-nvidia-lts",
                            "535.247.01-v1.10.3", "/etc/extensions.yaml"},
                           {InstallKind::OsImage, InstallPart::UserSpace, "nvidia-container-toolkit-lts",
                            "535.247.01-v1.17.6", "/etc/extensions.yaml"},
                           {InstallKind::OsImage, InstallPart::FabricManager, "nvidia-fabricmanager-lts", "535.247.01",
                            "/etc/extensions.yaml"}}));
}

TEST(OsImage, OfFlatcarIsTheVersionThatEtcAsksFor) {
  const ScratchTree tree;
  tree.write("/usr/share/flatcar/nvidia-metadata", "NVIDIA_DRIVER_VERSION=525.105.17\nNVIDIA_PRODUCT_TYPE=tesla\n");
  EXPECT_EQ(image(tree, "flatcar").front().version, "525.105.17");
  tree.write("/etc/flatcar/nvidia-metadata", "# ours\nNVIDIA_DRIVER_VERSION=\"535.183.01\"\n");
  EXPECT_EQ(image(tree, "flatcar").front().version, "535.183.01");
  tree.write("/etc/flatcar/nvidia-metadata", "NVIDIA_DRIVER_VERSION=\x1b[2J\n");
  EXPECT_EQ(image(tree, "flatcar").front().name, "/usr/share/flatcar/nvidia-metadata");
}

TEST(OsImage, IsAnErrorWhereItCanNotBeLookedFor) {
  const ScratchTree tree;
  tree.write("/etc/flatcar/nvidia-metadata", std::string(1 << 20, 'x'));
  EXPECT_EQ(read_os_image_traces(tree.root(), os("flatcar"), {}).error().code, ErrorCode::TooLarge);
  const ScratchTree talos;
  talos.fifo("/etc/extensions.yaml");
  EXPECT_FALSE(read_os_image_traces(talos.root(), os("talos"), {}).has_value());
}

}  // namespace
}  // namespace gpuskew
