#include "aggregator/cli/reply.h"

#include <gtest/gtest.h>

#include "aggregator/cli/reply_reader.h"
#include "proto/json.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

TEST(StatusReply, IsReadWhole) {
  const auto status = status_reply(golden_json("status.json"));
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ(status->version, "0.1.0");
  EXPECT_EQ(status->now, golden_now());
  EXPECT_EQ(status->total, 9U);
  EXPECT_EQ(count_of(status->by_state, "broken"), 4U);
  EXPECT_EQ(count_of(status->by_state, "total"), 0U);
  EXPECT_EQ(status->findings(), 5U);
  EXPECT_EQ(status->matrix.rows, 412U);
  EXPECT_EQ(status->history_error, std::nullopt);
}

TEST(StatusReply, TakesAnAggregatorWithoutWhatWasAddedLater) {
  Json json = golden_json("status.json");
  json.erase("history");
  EXPECT_TRUE(status_reply(json));
}

TEST(NodesReply, NamesTheNodeAndFieldThatIsWrong) {
  Json json = golden_json("nodes.json");
  json["nodes"][2].erase("state");
  const auto nodes = nodes_reply(json);
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error(), (Error{ErrorCode::Malformed, "nodes[2].state is missing"}));
}

TEST(NodeReply, IsReadWhole) {
  const auto node = node_reply(golden_json("node-gone.json"));
  ASSERT_TRUE(node) << node.error().what;
  EXPECT_EQ(node->state, "broken");
  ASSERT_TRUE(node->last_good);
  EXPECT_EQ(node->last_good->driver, "550.90.07");
  EXPECT_EQ(node->last_good->gpu_count, 2U);
  ASSERT_TRUE(node->tag);
  EXPECT_EQ(node->tag->text, "550-5.15.0-122-generic-ubuntu22.04");
  ASSERT_EQ(node->findings.size(), 1U);
  EXPECT_EQ(node->findings[0].evidence.size(), 4U);
  EXPECT_EQ(node->findings[0].evidence[3].source, "/lib/modules/5.15.0-122-generic");
  ASSERT_TRUE(node->next_boot);
  EXPECT_EQ(node->next_boot->outcome, "loses");
  EXPECT_EQ(node->next_boot->kernel, "5.15.0-122-generic");
}

TEST(NodeReply, TakesAnAggregatorWithoutAForecastButNoHalfOne) {
  Json json = golden_json("node-gone.json");
  json.erase("next_boot");
  EXPECT_EQ(node_reply(json)->next_boot, std::nullopt);
  json["next_boot"] = Json::parse(R"({"outcome":"loses"})");
  const auto node = node_reply(json);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().what, "next_boot.why is missing");
}

TEST(NodeReply, NamesAFieldDeepInside) {
  Json json = golden_json("node-gone.json");
  json["findings"][0]["evidence"][1]["at"] = "yesterday";
  const auto node = node_reply(json);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().what, "findings[0].evidence[1].at is not a time");
}

TEST(FindingsReply, ReadsWhatOurJsonWrites) {
  Finding finding;
  finding.code = FindingCode::DriverNotLoaded;
  finding.severity = Severity::Warning;
  finding.node = "n1";
  finding.since = golden_now();
  finding.cause = "no driver";
  finding.evidence = {Evidence{"none loaded", "/sys/module", golden_now()}};
  finding.affected_gpus = {"0000:3b:00.0"};
  const auto findings = findings_reply(Json{{"findings", Json::array({to_json(finding)})}});
  ASSERT_TRUE(findings) << findings.error().what;
  ASSERT_EQ(findings->size(), 1U);
  EXPECT_EQ(findings->front().code, "driver-not-loaded");
  EXPECT_EQ(findings->front().severity, "warning");
  EXPECT_EQ(findings->front().since, golden_now());
  EXPECT_EQ(findings->front().evidence, finding.evidence);
  EXPECT_EQ(findings->front().affected_gpus, finding.affected_gpus);
}

TEST(FindingsReply, KeepsCodesItDoesNotKnow) {
  Json json = golden_json("findings.json");
  json["findings"][0]["code"] = "module-wedged";
  json["findings"][0]["severity"] = "fatal";
  const auto findings = findings_reply(json);
  ASSERT_TRUE(findings) << findings.error().what;
  EXPECT_EQ(findings->front().code, "module-wedged");
  EXPECT_EQ(findings->front().severity, "fatal");
}

TEST(AuditReply, IsReadWhole) {
  const auto audit = audit_reply(golden_json("audit.json"));
  ASSERT_TRUE(audit) << audit.error().what;
  ASSERT_EQ(audit->nodes.size(), 4U);
  EXPECT_EQ(audit->nodes[0].verdict, "missing");
  EXPECT_EQ(audit->nodes[3].tag, std::nullopt);
  EXPECT_EQ(audit->notes.size(), 1U);
}

TEST(HistoryReply, ReadsWhatOurJsonWrites) {
  const Transition transition{"n1", golden_now(), TransitionKind::KernelChanged, "5.15.0-119", "5.15.0-122", "boot"};
  const auto history = history_reply(Json{{"transitions", Json::array({to_json(transition)})}});
  ASSERT_TRUE(history) << history.error().what;
  ASSERT_EQ(history->size(), 1U);
  EXPECT_EQ(history->front().at, golden_now());
  EXPECT_EQ(history->front().kind, to_string(TransitionKind::KernelChanged));
  EXPECT_EQ(history->front().to, "5.15.0-122");
}

TEST(Replies, OfAnyOtherShapeAreErrors) {
  for (const char* text : {"null", "5", "[]", "{}", R"({"nodes":5,"findings":{},"transitions":"x"})"}) {
    const Json json = Json::parse(text);
    EXPECT_FALSE(status_reply(json)) << text;
    EXPECT_FALSE(nodes_reply(json)) << text;
    EXPECT_FALSE(node_reply(json)) << text;
    EXPECT_FALSE(findings_reply(json)) << text;
    EXPECT_FALSE(audit_reply(json)) << text;
    EXPECT_FALSE(history_reply(json)) << text;
  }
}

}  // namespace
}  // namespace gpuskew
