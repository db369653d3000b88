#include "aggregator/kube/node_writes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

using Json = nlohmann::json;

constexpr Time kNow = from_unix_ms(1'796'054'737'123);  // 2026-11-30T16:05:37.123Z

const Json kNode = Json::parse(R"({
  "metadata": {"name": "gpu-1", "uid": "u-1", "resourceVersion": "17"},
  "spec": {"taints": [{"key": "team", "value": "ml", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
                      {"key": "gpuskew.io/gpu-gone", "effect": "NoSchedule"}]},
  "status": {"conditions": [
    {"type": "Ready", "status": "True"},
    {"type": "gpuskew.io/GPUReady", "status": "False", "reason": "DriverNotLoaded", "message": "no driver",
     "lastHeartbeatTime": "2026-11-30T16:00:00Z", "lastTransitionTime": "2026-11-30T15:00:00Z"}]}})");

NodeMarks marks_of(const std::string& status) {
  NodeMarks marks;
  marks.condition = ConditionMark{status, "Reason", "message"};
  marks.condition_written = "2026-11-30T16:00:00Z";
  return marks;
}

TEST(NodeWrites, ReadOurMarksAndNoOthers) {
  const NodeMarks marks = node_marks_from_json(kNode);
  EXPECT_TRUE(marks.tainted);
  ASSERT_TRUE(marks.condition);
  EXPECT_EQ(*marks.condition, (ConditionMark{"False", "DriverNotLoaded", "no driver"}));
  EXPECT_EQ(marks.condition_written, "2026-11-30T16:00:00Z");
}

TEST(NodeWrites, TakeNothingFromWhatIsNotOfTheApisForm) {
  for (const char* text : {"null", "[]", "{}", R"({"spec": {"taints": {}}, "status": {"conditions": 3}})",
                           R"({"spec": {"taints": [null, 7, {"key": 1}]}, "status": {"conditions": [null, []]}})",
                           R"({"spec": {"taints": [{"key": "gpuskew.io/gpu-gone", "effect": "NoExecute"}]}})"}) {
    EXPECT_EQ(node_marks_from_json(Json::parse(text)), NodeMarks{}) << text;
  }
}

TEST(NodeWrites, AnotherStatusIsATransitionAndAnotherMessageIsNone) {
  const Json other = condition_patch("u-1", {"True", "GpuReady", "well"}, marks_of("False"), kNow);
  EXPECT_EQ(other.at("metadata").at("uid"), "u-1");
  ASSERT_EQ(other.at("status").at("conditions").size(), 1U) << "conditions of others are not ours to send";
  const Json& condition = other.at("status").at("conditions").at(0);
  EXPECT_EQ(condition.at("type"), "gpuskew.io/GPUReady");
  EXPECT_EQ(condition.at("lastTransitionTime"), "2026-11-30T16:05:37Z");
  const Json same = condition_patch("u-1", {"True", "GpuReady", "well"}, marks_of("True"), kNow);
  EXPECT_FALSE(same.at("status").at("conditions").at(0).contains("lastTransitionTime"));
  EXPECT_EQ(same.at("status").at("conditions").at(0).at("lastHeartbeatTime"), "2026-11-30T16:05:37Z");
  const Json first = condition_patch("u-1", {"True", "GpuReady", "well"}, NodeMarks{}, kNow);
  EXPECT_TRUE(first.at("status").at("conditions").at(0).contains("lastTransitionTime"));
}

TEST(NodeWrites, ATaintLeavesThoseOfOthersAsTheyWere) {
  const std::optional<Json> removed = taint_patch(kNode, false);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->at("spec").at("taints"), Json::array({kNode.at("spec").at("taints").at(0)}));
  EXPECT_EQ(removed->at("metadata").at("resourceVersion"), "17") << "without it another's change would be lost";
  EXPECT_FALSE(taint_patch(kNode, true)) << "it is there";
  Json bare = kNode;
  bare.erase("spec");
  const std::optional<Json> added = taint_patch(bare, true);
  ASSERT_TRUE(added);
  EXPECT_EQ(added->at("spec").at("taints"), Json::parse(R"([{"key": "gpuskew.io/gpu-gone", "effect": "NoSchedule"}])"));
  EXPECT_FALSE(taint_patch(bare, false));
}

TEST(NodeWrites, OurTaintWasTheOnlyOneThenThereIsNoList) {
  Json node = kNode;
  node["spec"]["taints"].erase(0);
  const std::optional<Json> removed = taint_patch(node, false);
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->at("spec").at("taints").is_null());
}

TEST(NodeWrites, ANodeWhoseTaintsCanNotBeReadIsNotTouched) {
  Json node = kNode;
  node["spec"]["taints"] = "none";
  EXPECT_FALSE(taint_patch(node, true));
  node["spec"]["taints"] = Json::array();
  for (std::size_t i = 0; i <= kMaxNodeTaints; ++i) {
    node["spec"]["taints"].push_back({{"key", std::to_string(i)}, {"effect", "NoSchedule"}});
  }
  EXPECT_FALSE(taint_patch(node, true));
}

Action becomes(const std::string& node, const std::string& status, const std::string& reason) {
  return {node, ActionKind::SetCondition, {status, reason, "message"}, true};
}

std::string name_of(const Action& action, std::string_view uid, const NodeMarks& before, Time now = kNow) {
  return condition_event(action, uid, before, "replica", now).at("metadata").at("name");
}

TEST(NodeWrites, AnEventHasTheSameNameWhoeverTellsTheSameChange) {
  const Action action = becomes("gpu-1", "False", "DriverNotLoaded");
  const std::string name = name_of(action, "u-1", marks_of("True"));
  EXPECT_TRUE(name.starts_with("gpu-1.gpuskew-")) << name;
  EXPECT_EQ(name, name_of(action, "u-1", marks_of("True"), kNow + std::chrono::hours(1)));
  EXPECT_NE(name, name_of(action, "u-2", marks_of("True"))) << "another node of the same name";
  EXPECT_NE(name, name_of(becomes("gpu-1", "False", "ModuleWedged"), "u-1", marks_of("True")));
  NodeMarks later = marks_of("True");
  later.condition_written = "2026-11-30T17:00:00Z";
  EXPECT_NE(name, name_of(action, "u-1", later)) << "the same change on another day is another Event";
}

TEST(NodeWrites, AnEventOfALongNameIsStillANameOfKubernetes) {
  std::string node;
  while (node.size() < 253) {
    node += "a.";
  }
  node.resize(253);
  const std::string name = name_of(becomes(node, "False", "DriverNotLoaded"), "u-1", NodeMarks{});
  EXPECT_LE(name.size(), 253U);
  EXPECT_EQ(name.find(".."), std::string::npos) << name;
}

TEST(NodeWrites, OnlyGoodNewsIsANormalEvent) {
  const Json good = condition_event(becomes("gpu-1", "True", "GpuReady"), "u-1", marks_of("False"), "r", kNow);
  EXPECT_EQ(good.at("type"), "Normal");
  EXPECT_EQ(good.at("metadata").at("namespace"), "default");
  EXPECT_EQ(good.at("involvedObject").at("uid"), "u-1");
  const Json degraded = condition_event(becomes("gpu-1", "True", "ImageMissing"), "u-1", marks_of("True"), "r", kNow);
  EXPECT_EQ(degraded.at("type"), "Warning");
}

}  // namespace
}  // namespace gpuskew
