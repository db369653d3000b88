#include "aggregator/api_fleet.h"

#include <gtest/gtest.h>

#include "core/facts/each_fact.h"
#include "tests/unit/aggregator/api_rig.h"

namespace gpuskew {
namespace {

using nlohmann::json;

class ApiFleet : public testing::Test {
 protected:
  ApiFleet() {
    rig.report(healthy_snapshot("gpu-1"), kNow - std::chrono::minutes(2));
    rig.report(healthy_snapshot("gpu-2"), kNow - std::chrono::minutes(2));
    rig.report(bumped_snapshot("gpu-2"), kNow);
    rig.report(healthy_snapshot("gpu-1"), kNow);
    rig.report(plain_snapshot("web-1"), kNow);
  }
  ApiRig rig;
};

TEST_F(ApiFleet, StatusCountsNodesByStateAndFindingsBySeverity) {
  const json status = rig.json("/api/v1/status");
  EXPECT_EQ(status["version"], GPUSKEW_VERSION);
  EXPECT_EQ(status["now"], "2026-11-30T16:05:37Z");
  EXPECT_EQ(status["nodes"], json::parse(R"({"total":3,"ok":1,"no-gpu":1,"not-judged":0,"starting":0,"degraded":0,
                                             "broken":1,"unknown":0})"));
  EXPECT_EQ(status["findings"], json::parse(R"({"critical":1,"warning":0,"info":0})"));
  EXPECT_EQ(status["matrix"], json::parse(R"({"configured":false,"rows":0,"source":"","error":null})"));
  EXPECT_EQ(status["history"], json::parse(R"({"ok":true,"error":null,"failing_since":null})"));
}

TEST_F(ApiFleet, NodesHaveTheirFactsTagAndFindings) {
  const json nodes = rig.json("/api/v1/nodes")["nodes"];
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0]["name"], "gpu-1");
  EXPECT_EQ(nodes[0]["state"], "ok");
  EXPECT_EQ(nodes[0]["kernel"]["value"], "5.15.0-119-generic");
  EXPECT_EQ(nodes[0]["os"]["value"]["id"], "ubuntu");
  EXPECT_EQ(nodes[0]["driver"]["value"], "550.90.07");
  EXPECT_EQ(nodes[0]["gpus"]["value"], 2);
  EXPECT_EQ(nodes[0]["boot_id"]["state"], "known");
  EXPECT_EQ(nodes[0]["tag"], "550-5.15.0-119-generic-ubuntu22.04");
  EXPECT_TRUE(nodes[0]["tag_error"].is_null());
  EXPECT_EQ(nodes[0]["last_heard"], "2026-11-30T16:05:37Z");
  EXPECT_EQ(nodes[0]["findings"], json::array());
  EXPECT_EQ(nodes[1]["driver"]["state"], "absent");
  EXPECT_EQ(nodes[1]["findings"], json({"gpu-gone-after-kernel-bump"}));
  EXPECT_TRUE(nodes[2]["tag"].is_null());
  EXPECT_TRUE(nodes[2]["tag_error"].is_string());
}

TEST_F(ApiFleet, ANodeIsShownWhole) {
  const json node = rig.json("/api/v1/nodes/gpu-2");
  EXPECT_EQ(node["name"], "gpu-2");
  EXPECT_EQ(node["state"], "broken");
  EXPECT_NE(node["why"], "");
  EXPECT_EQ(node["first_seen"], "2026-11-30T16:03:37Z");
  EXPECT_EQ(node["snapshot"]["kernel"]["value"], "5.15.0-122-generic");
  EXPECT_EQ(node["last_good"]["kernel"], "5.15.0-119-generic");
  EXPECT_EQ(node["wanted_driver"]["value"], "550.90.07");
  EXPECT_EQ(node["tag"]["text"], "550-5.15.0-122-generic-ubuntu22.04");
  EXPECT_EQ(node["findings"][0]["code"], "gpu-gone-after-kernel-bump");
}

TEST_F(ApiFleet, NodesTellWhatTheNextBootDoes) {
  const NextBoot next = rig.fleet.find("gpu-1")->verdict.next_boot;
  for (const json& told :
       {rig.json("/api/v1/nodes")["nodes"][0]["next_boot"], rig.json("/api/v1/nodes/gpu-1")["next_boot"]}) {
    EXPECT_EQ(told["outcome"], to_string(next.gpu));
    EXPECT_EQ(told["why"], next.why);
    EXPECT_EQ(told["kernel"].is_null(), !next.kernel.has_value());
  }
}

TEST_F(ApiFleet, ANodeHasEveryFact) {
  const json snapshot = rig.json("/api/v1/nodes/gpu-1")["snapshot"];
  for_each_fact(Snapshot{}, [&snapshot](const char* name, const auto&) {
    EXPECT_TRUE(snapshot.contains(name) && snapshot[name].contains("state")) << name;
  });
}

TEST_F(ApiFleet, AnUnknownFactSaysWhy) {
  Snapshot snapshot = healthy_snapshot("gpu-3");
  snapshot.gpus =
      Fact<std::vector<Gpu>>::unknown(Error{ErrorCode::Denied, "permission denied"}, "/sys/bus/pci/devices");
  rig.report(snapshot);
  const json gpus = rig.json("/api/v1/nodes")["nodes"][2]["gpus"];
  EXPECT_EQ(gpus["state"], "unknown");
  EXPECT_EQ(gpus["because"], "permission denied");
}

TEST_F(ApiFleet, FindingsAreCriticalFirstThenOldestThenByNode) {
  rig.report(bumped_snapshot("gpu-1"), kNow);
  rig.report(healthy_snapshot("gpu-0"), kNow - std::chrono::minutes(10));
  rig.recorder.tick(kNow);
  const json findings = rig.json("/api/v1/findings")["findings"];
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0]["severity"], "critical");
  EXPECT_EQ(findings[1]["severity"], "critical");
  EXPECT_EQ(findings[0]["node"], "gpu-2") << "gpu-1 was still well a moment ago";
  EXPECT_EQ(findings[1]["node"], "gpu-1");
  EXPECT_EQ(findings[2]["code"], "agent-silent");
}

TEST_F(ApiFleet, AnEmptyFleetIsEmptyLists) {
  ApiRig empty;
  EXPECT_EQ(empty.json("/api/v1/nodes"), json::parse(R"({"nodes":[]})"));
  EXPECT_EQ(empty.json("/api/v1/findings"), json::parse(R"({"findings":[]})"));
}

TEST(ApiFleetOfACluster, SaysWhichReplicaLeadsAndWhyNoNodeIsTainted) {
  ApiRig rig;
  EXPECT_FALSE(rig.json("/api/v1/status").contains("replica"));
  rig.cluster.emplace();
  rig.cluster->replica.identity = "a_1";
  rig.cluster->replica.leader = "b_2";
  rig.cluster->replica.fuse = "3 of 4 nodes";
  const json replica = rig.json("/api/v1/status")["replica"];
  EXPECT_EQ(replica, json::parse(R"({"leads":false,"identity":"a_1","leader":"b_2","dry_run":false,
      "fuse":"3 of 4 nodes","trouble":null})"));
}

}  // namespace
}  // namespace gpuskew
