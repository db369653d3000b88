#include "agent/probes/cdi_specs.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

std::string spec(const std::string& kind, const std::string& version) {
  return "cdiVersion: 0.5.0\nkind: " + kind +
         "\ndevices:\n- name: '0'\ncontainerEdits:\n  mounts:\n  - hostPath: " + "/usr/lib/libcuda.so." + version +
         "\n";
}

TEST(CdiSpecs, AreNvidiasInBothDirectories) {
  const ScratchTree tree;
  tree.write("/etc/cdi/nvidia.yaml", spec("nvidia.com/gpu", "550.90.07"));
  tree.write("/etc/cdi/other.yaml", spec("example.com/gpu", "1.2.3"));
  tree.write("/etc/cdi/fake.yaml", spec("notnvidia.com/gpu", "1.2.3"));
  tree.write("/etc/cdi/nvidia.yaml.bak", spec("nvidia.com/gpu", "1.2.3"));
  tree.write("/run/cdi/plugin.json", R"({"kind": "k8s.device-plugin.nvidia.com/gpu", "devices": [{}, {}]})");
  tree.link("/var/run", "/run");
  const auto specs = read_cdi_specs(tree.root(), nullptr);
  ASSERT_TRUE(specs.is_known());
  EXPECT_EQ(*specs, (std::vector<CdiSpec>{
                        {"/etc/cdi/nvidia.yaml", "nvidia.com/gpu", 1, "550.90.07"},
                        {"/var/run/cdi/plugin.json", "k8s.device-plugin.nvidia.com/gpu", 2, ""},
                    }));
}

TEST(CdiSpecs, AreKnownToBeNoneWithoutTheDirectories) {
  const ScratchTree tree;
  EXPECT_TRUE(read_cdi_specs(tree.root(), nullptr)->empty());
  tree.write("/etc/cdi/half.yaml", "cdiVersion: 0.5.0\n");
  tree.link("/etc/cdi/gone.yaml", "/nowhere");
  EXPECT_TRUE(read_cdi_specs(tree.root(), nullptr)->empty());
}

TEST(CdiSpecs, AreUnknownWhereOneCanNotBeReadOrIsTooLarge) {
  const ScratchTree tree;
  tree.fifo("/etc/cdi/nvidia.yaml");
  EXPECT_EQ(read_cdi_specs(tree.root(), nullptr).why().code, ErrorCode::Malformed);
  tree.remove("/etc/cdi/nvidia.yaml");
  tree.write("/etc/cdi/nvidia.yaml", std::string((8u << 20) + 1, ' '));
  EXPECT_EQ(read_cdi_specs(tree.root(), nullptr).why().code, ErrorCode::TooLarge);
  tree.remove("/etc/cdi/nvidia.yaml");
  tree.broken("/run/cdi");
  EXPECT_TRUE(read_cdi_specs(tree.root(), nullptr).is_unknown());
}

TEST(CdiSpecs, AreUnknownWhereOneOfNvidiasIsBroken) {
  CdiSpecCache cache;
  for (const char* text : {"", "   ", "cdiVersion: 0.5.0\nkind: nvidia.c", "garbage\n",
                           R"({"cdiVersion":"0.6.0","kind":"nvidia.com/gpu","devices":[{"na)"}) {
    const ScratchTree tree;
    tree.write("/etc/cdi/nvidia.yaml", text);
    for (int round = 0; round < 2; ++round) {
      const auto specs = read_cdi_specs(tree.root(), &cache);
      ASSERT_TRUE(specs.is_unknown()) << text;
      EXPECT_EQ(specs.source(), "/etc/cdi/nvidia.yaml");
      EXPECT_NE(specs.why().what.find("/etc/cdi/nvidia.yaml as a CDI specification: "), std::string::npos)
          << specs.why().what;
    }
  }
}

TEST(CdiSpecs, OfOthersMayBeBroken) {
  const ScratchTree tree;
  tree.write("/etc/cdi/other.json", R"({"kind":"example.com/gpu","devices":[{)");
  EXPECT_TRUE(read_cdi_specs(tree.root(), nullptr)->empty());
  tree.write("/etc/cdi/gpus.json", R"({"kind":"nvidia.com/gpu","devices":[{)");
  EXPECT_TRUE(read_cdi_specs(tree.root(), nullptr).is_unknown());
}

TEST(CdiSpecs, BeyondTheLimitAreUnknown) {
  const ScratchTree tree;
  for (std::size_t at = 0; at <= kMaxCdiSpecs; ++at) {
    tree.write("/etc/cdi/" + std::to_string(at) + ".yaml", spec("nvidia.com/gpu", "550.90.07"));
  }
  EXPECT_EQ(read_cdi_specs(tree.root(), nullptr).why().code, ErrorCode::TooLarge);
}

TEST(CdiSpecs, AreReadAgainWhenTheyChange) {
  const ScratchTree tree;
  CdiSpecCache cache;
  tree.write("/etc/cdi/nvidia.yaml", spec("nvidia.com/gpu", "550.90.07"));
  EXPECT_EQ(read_cdi_specs(tree.root(), &cache)->at(0).driver_version, "550.90.07");
  EXPECT_EQ(read_cdi_specs(tree.root(), &cache)->at(0).driver_version, "550.90.07");
  tree.write("/etc/cdi/nvidia.yaml", spec("nvidia.com/gpu", "550.107.02"));
  EXPECT_EQ(read_cdi_specs(tree.root(), &cache)->at(0).driver_version, "550.107.02");
}

}  // namespace
}  // namespace gpuskew
