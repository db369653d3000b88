#include "aggregator/api.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/api_rig.h"

namespace gpuskew {
namespace {

TEST(Api, HealthIsPlainText) {
  ApiRig rig;
  EXPECT_EQ(rig.get("/healthz").body, "ok\n");
  EXPECT_EQ(rig.get("/readyz").body, "ready\n");
}

TEST(Api, IsNotReadyWhileTheHistoryCanNotBeWritten) {
  ApiRig rig;
  {
    Database other = Database::open(rig.database(), Database::Mode::OpenExisting).value();
    Result<Transaction> lock = Transaction::begin(other);
    ASSERT_TRUE(lock);
    rig.report(healthy_snapshot("gpu-1"));
  }
  EXPECT_EQ(rig.get("/readyz").status, 503);
  EXPECT_NE(rig.get("/readyz").body.find("history database"), std::string::npos);
  EXPECT_FALSE(rig.json("/api/v1/status")["history"]["ok"].get<bool>());
  EXPECT_EQ(rig.json("/api/v1/nodes")["nodes"].size(), 1u);
}

TEST(Api, HistoryIsNewestFirstAndLimited) {
  ApiRig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(bumped_snapshot("gpu-1"), kNow + std::chrono::minutes(1));
  const nlohmann::json history = rig.json("/api/v1/history/gpu-1");
  EXPECT_EQ(history["node"], "gpu-1");
  ASSERT_GT(history["transitions"].size(), 2u);
  EXPECT_EQ(history["transitions"].back()["kind"], "node-seen");
  const HttpResponse one = rig.get("/api/v1/history/gpu-1", {{"limit", "1"}});
  EXPECT_EQ(nlohmann::json::parse(one.body)["transitions"].size(), 1u);
}

TEST(Api, RefusesALimitThatIsNone) {
  ApiRig rig;
  rig.report(healthy_snapshot("gpu-1"));
  for (const char* limit : {"0", "-1", "10001", "ten", "1x", ""}) {
    const HttpResponse response = rig.get("/api/v1/history/gpu-1", {{"limit", limit}});
    EXPECT_EQ(response.status, 400) << limit;
    EXPECT_NE(response.body.find("from 1 to 10000"), std::string::npos);
  }
  EXPECT_EQ(rig.get("/api/v1/history/gpu-1", {{"limit", "10000"}}).status, 200);
}

TEST(Api, SaysWhatThereIsWhenThereIsNothing) {
  ApiRig rig;
  for (const char* path : {"/", "/api/v1/nope", "/api/v1/nodes/", "/api/v1/history/"}) {
    const HttpResponse response = rig.get(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_NE(response.body.find("/api/v1/findings"), std::string::npos) << response.body;
  }
  EXPECT_EQ(rig.get("/api/v1/nodes/nobody").status, 404);
  EXPECT_EQ(rig.get("/api/v1/history/nobody").status, 404);
}

TEST(Api, OnlyReads) {
  ApiRig rig;
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/nodes";
  const HttpResponse response = answer(request, rig.sources, kNow);
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at(0).first, "Allow");
}

TEST(Api, AsksForTheToken) {
  ApiRig rig;
  rig.auth.set_token("0123456789abcdef");
  EXPECT_EQ(rig.get("/api/v1/nodes").status, 401);
  EXPECT_EQ(rig.get("/metrics").status, 401);
  EXPECT_EQ(rig.get("/readyz").status, 200);
}

TEST(Api, MetricsAreTextOfTheFormatsVersion) {
  ApiRig rig;
  EXPECT_EQ(rig.get("/metrics").content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(rig.get("/metrics").body.find("gpuskew_build_info"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
