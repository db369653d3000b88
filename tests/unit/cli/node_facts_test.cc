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
