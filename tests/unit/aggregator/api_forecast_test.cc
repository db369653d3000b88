#include "aggregator/api_forecast.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/api_rig.h"

namespace gpuskew {
namespace {

using nlohmann::json;

constexpr const char* kCsv = "driver_branch,kernel,os_tag\n550,5.15.0-122-generic,ubuntu22.04\n";

struct ApiForecast : testing::Test {
  ApiForecast() {
    rig.report(healthy_snapshot("gpu-1"));
    rig.report(plain_snapshot("web-1"));
  }
  json forecast(const std::map<std::string, std::string>& query) {
    return json::parse(rig.get("/api/v1/forecast", query).body);
  }

  ApiRig rig;
};

TEST_F(ApiForecast, NamesTheTagUnderAnotherKernelAndWhetherItExists) {
  rig.use_matrix(kCsv);
  const json present = forecast({{"kernel", "5.15.0-122-generic"}});
  EXPECT_EQ(present["kernel"], "5.15.0-122-generic");
  EXPECT_EQ(present["result"], "ok");
  ASSERT_EQ(present["nodes"].size(), 1u) << "a node without a GPU needs no image";
  EXPECT_EQ(present["nodes"][0]["tag"], "550-5.15.0-122-generic-ubuntu22.04");
  EXPECT_EQ(present["nodes"][0]["kernel"], "5.15.0-122-generic");
  const json missing = forecast({{"kernel", "6.8.0-45-generic"}});
  EXPECT_EQ(missing["result"], "missing");
  EXPECT_EQ(missing["nodes"][0]["verdict"], "missing");
}

TEST_F(ApiForecast, TakesAKernelRawOrInLabelForm) {
  EXPECT_EQ(forecast({{"kernel", "6.6.72+"}})["nodes"][0]["tag"], "550-6.6.72-ubuntu22.04");
  EXPECT_EQ(forecast({{"kernel", "6.6.72"}})["nodes"][0]["tag"], "550-6.6.72-ubuntu22.04");
}

TEST_F(ApiForecast, WithoutAMatrixEveryImageIsUnknown) {
  const json answer = forecast({{"kernel", "5.15.0-122-generic"}});
  EXPECT_EQ(answer["result"], "unknown");
  EXPECT_EQ(answer["nodes"][0]["verdict"], "unknown");
  EXPECT_EQ(answer["nodes"][0]["tag"], "550-5.15.0-122-generic-ubuntu22.04");
  EXPECT_NE(answer["nodes"][0]["why"].get<std::string>().find("set matrix.file in"), std::string::npos);
}

TEST_F(ApiForecast, WithoutAKernelItIsEachNodesNext) {
  Snapshot snapshot = healthy_snapshot("gpu-1");
  snapshot.next_kernel = Fact<NextKernel>::known(
      NextKernel{KernelRelease::parse("5.15.0-122-generic").value(), "first entry of grub.cfg"}, "/boot/grub/grub.cfg");
  rig.report(snapshot);
  EXPECT_EQ(forecast({})["nodes"][0]["tag"], "550-5.15.0-122-generic-ubuntu22.04");
  snapshot.next_kernel = Fact<NextKernel>::absent("/boot");
  rig.report(snapshot);
  const json unknown = forecast({})["nodes"][0];
  EXPECT_EQ(unknown["verdict"], "unknown");
  EXPECT_TRUE(unknown["kernel"].is_null());
  EXPECT_NE(unknown["why"].get<std::string>().find("no boot loader says which kernel boots next"), std::string::npos);
}

TEST_F(ApiForecast, TakesOneNode) {
  rig.report(healthy_snapshot("gpu-2"));
  const json answer = forecast({{"kernel", "5.15.0-122-generic"}, {"node", "gpu-2"}});
  ASSERT_EQ(answer["nodes"].size(), 1u);
  EXPECT_EQ(answer["nodes"][0]["name"], "gpu-2");
  EXPECT_EQ(rig.get("/api/v1/forecast", {{"node", "nope"}}).status, 404);
}

TEST_F(ApiForecast, RefusesWhatIsNoKernel) {
  for (const char* kernel : {"generic", "5", " ", "5.15 0"}) {
    EXPECT_EQ(rig.get("/api/v1/forecast", {{"kernel", kernel}}).status, 400) << kernel;
  }
}

}  // namespace
}  // namespace gpuskew
