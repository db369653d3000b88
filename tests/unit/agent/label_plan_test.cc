#include "agent/label_plan.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

const FieldManager kUs{"gpuskew-agent", true};
const FieldManager kGfd{"gpu-feature-discovery", false};

NodeLabels wanted() {
  NodeLabels labels;
  labels.own = {{"gpuskew.io/driver-version", "550.90.07"}, {"gpuskew.io/state", "ok"}};
  labels.standard = {{"nvidia.com/cuda.driver.major", "550"}, {"nvidia.com/gpu.present", "true"}};
  return labels;
}

NodeMetadata bare_node() {
  return {"uid-1", "17", {{"kubernetes.io/os", "linux"}}, {}};
}

void put(NodeMetadata& node, const std::string& key, const std::string& value, const FieldManager& owner) {
  node.labels[key] = value;
  node.owners[key].insert(owner);
}

/// What the server makes of a plan: the keys it lists are ours, those it does not list are not.
NodeMetadata applied(NodeMetadata node, const LabelPlan& plan) {
  for (auto& [key, owners] : node.owners) {
    if (owners.erase(kUs) == 1 && owners.empty() && !plan.apply.contains(key)) {
      node.labels.erase(key);
    }
  }
  std::erase_if(node.owners, [](const auto& each) { return each.second.empty(); });
  for (const auto& [key, value] : plan.apply) {
    if (const auto label = node.labels.find(key); label != node.labels.end() && label->second != value) {
      node.owners[key].clear();
    }
    put(node, key, value, kUs);
  }
  for (const std::string& key : plan.remove) {
    node.labels.erase(key);
    node.owners.erase(key);
  }
  return node;
}

TEST(LabelPlanTest, AppliesEverythingToANodeWithoutLabels) {
  const LabelPlan plan = plan_labels(wanted(), bare_node(), {});
  EXPECT_EQ(plan.apply.size(), 4U);
  EXPECT_TRUE(plan.is_apply_needed);
  EXPECT_FALSE(plan.force);
  EXPECT_TRUE(plan.left_to.empty());
  EXPECT_TRUE(plan.remove.empty());
}

TEST(LabelPlanTest, NeedsNothingWhereAllIsAsWanted) {
  const NodeMetadata node = applied(bare_node(), plan_labels(wanted(), bare_node(), {}));
  const LabelPlan again = plan_labels(wanted(), node, {});
  EXPECT_FALSE(again.is_apply_needed);
  EXPECT_EQ(changes_text(node, again), "");
}

TEST(LabelPlanTest, LeavesAStandardKeyToItsOwnerAlsoWithTheSameValue) {
  NodeMetadata node = bare_node();
  put(node, "nvidia.com/cuda.driver.major", "550", kGfd);
  put(node, "nvidia.com/gpu.present", "maybe", {"kubectl-label", false});
  const LabelPlan plan = plan_labels(wanted(), node, {});
  EXPECT_EQ(plan.apply, wanted().own);
  EXPECT_EQ(plan.left_to, (ForeignLabels{{"nvidia.com/cuda.driver.major", "gpu-feature-discovery"},
                                         {"nvidia.com/gpu.present", "kubectl-label"}}));
  EXPECT_FALSE(plan.force);
}

TEST(LabelPlanTest, GivesUpAKeyThatAnotherHasComeToOwnWithIt) {
  NodeMetadata node = applied(bare_node(), plan_labels(wanted(), bare_node(), {}));
  node.owners["nvidia.com/gpu.present"].insert({"nfd-master", true});
  const LabelPlan plan = plan_labels(wanted(), node, {});
  EXPECT_TRUE(plan.is_apply_needed);
  EXPECT_FALSE(plan.apply.contains("nvidia.com/gpu.present"));
  EXPECT_EQ(changes_text(node, plan), "") << "the label stays, by its other owner";
}

TEST(LabelPlanTest, CountsItsOwnNameWithAnotherOperationAsAnother) {
  NodeMetadata node = bare_node();
  put(node, "nvidia.com/gpu.present", "true", {"gpuskew-agent", false});
  EXPECT_EQ(plan_labels(wanted(), node, {}).left_to.at("nvidia.com/gpu.present"), "gpuskew-agent");
}

TEST(LabelPlanTest, TakesItsOwnPrefixByForceAtTheVersionItRead) {
  NodeMetadata node = bare_node();
  put(node, "gpuskew.io/state", "fine", {"kubectl-label", false});
  const LabelPlan plan = plan_labels(wanted(), node, {});
  EXPECT_TRUE(plan.force);
  EXPECT_EQ(apply_object("gpu-1", node, plan).at("metadata").at("resourceVersion"), "17");
  node.labels["gpuskew.io/state"] = "ok";
  EXPECT_FALSE(plan_labels(wanted(), node, {}).force) << "an equal value is no conflict";
}

TEST(LabelPlanTest, LeavesWhatTheServerRefused) {
  const LabelPlan plan = plan_labels(wanted(), bare_node(), {{"nvidia.com/gpu.present", "before-first-apply"}});
  EXPECT_EQ(plan.left_to, (ForeignLabels{{"nvidia.com/gpu.present", "before-first-apply"}}));
  EXPECT_FALSE(plan.force);
  EXPECT_TRUE(plan_labels(wanted(), bare_node(), {{"gpuskew.io/state", "before-first-apply"}}).force);
}

TEST(LabelPlanTest, DropsEveryDriverLabelInOneApply) {
  const NodeMetadata node = applied(bare_node(), plan_labels(wanted(), bare_node(), {}));
  NodeLabels gone;
  gone.own = {{"gpuskew.io/state", "broken"}};
  gone.standard = {{"nvidia.com/gpu.present", "true"}};
  const LabelPlan plan = plan_labels(gone, node, {});
  EXPECT_TRUE(plan.is_apply_needed);
  EXPECT_TRUE(plan.remove.empty());
  EXPECT_EQ(changes_text(node, plan),
            "gpuskew.io/state=broken, gpuskew.io/driver-version removed, nvidia.com/cuda.driver.major removed");
  EXPECT_EQ(
      applied(node, plan).labels,
      (Labels{{"gpuskew.io/state", "broken"}, {"kubernetes.io/os", "linux"}, {"nvidia.com/gpu.present", "true"}}));
}

TEST(LabelPlanTest, RemovesAnOwnKeyThatAnotherKeepsAlive) {
  NodeMetadata node = bare_node();
  put(node, "gpuskew.io/driver-version", "550.90.07", kUs);
  put(node, "gpuskew.io/driver-version", "550.90.07", {"kubectl", true});
  node.labels["gpuskew.io/next-kernel"] = "nobody's";
  NodeLabels gone;
  gone.own = {{"gpuskew.io/state", "broken"}};
  EXPECT_EQ(plan_labels(gone, node, {}).remove,
            (std::vector<std::string>{"gpuskew.io/driver-version", "gpuskew.io/next-kernel"}));
}

TEST(LabelPlanTest, NamesTheNodeItMeansByItsUid) {
  const nlohmann::json object = apply_object("gpu-1", bare_node(), plan_labels(wanted(), bare_node(), {}));
  EXPECT_EQ(object, nlohmann::json::parse(R"({"apiVersion": "v1", "kind": "Node", "metadata": {
    "name": "gpu-1", "uid": "uid-1", "labels": {"gpuskew.io/driver-version": "550.90.07", "gpuskew.io/state": "ok",
    "nvidia.com/cuda.driver.major": "550", "nvidia.com/gpu.present": "true"}}})"));
}

TEST(LabelPlanTest, ReadsWhatANodeSays) {
  const auto node = node_metadata(nlohmann::json::parse(R"({"kind": "PartialObjectMetadata", "metadata": {
    "name": "gpu-1", "uid": "u", "resourceVersion": "5", "labels": {"a": "b"}, "managedFields": [
    {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}]}})"));
  ASSERT_TRUE(node) << node.error().what;
  EXPECT_EQ(node->uid, "u");
  EXPECT_EQ(node->resource_version, "5");
  EXPECT_EQ(node->labels, (Labels{{"a", "b"}}));
  EXPECT_EQ(node->owners, (LabelOwners{{"a", {{"m", false}}}}));
}

TEST(LabelPlanTest, RefusesANodeWithoutWhatItNeeds) {
  for (const char* text : {"[]", "{}", R"({"metadata": {"uid": "u"}})", R"({"metadata": {"resourceVersion": "5"}})",
                           R"({"metadata": {"uid": "u", "resourceVersion": "5", "labels": {"a": 1}}})",
                           R"({"metadata": {"uid": "u", "resourceVersion": "5", "labels": 1}})",
                           R"({"metadata": {"uid": "u", "resourceVersion": "5", "managedFields": 1}})"}) {
    const auto node = node_metadata(nlohmann::json::parse(text));
    ASSERT_FALSE(node) << text;
    EXPECT_EQ(node.error().code, ErrorCode::Malformed) << text;
  }
}

NodeMetadata any_node() {
  NodeMetadata node = bare_node();
  for (const char* key : {"gpuskew.io/driver-version", "gpuskew.io/state", "gpuskew.io/kernel",
                          "nvidia.com/cuda.driver.major", "nvidia.com/gpu.present"}) {
    if (!*rc::gen::arbitrary<bool>()) {
      continue;
    }
    node.labels[key] = *rc::gen::element<std::string>("550", "true", "ok", "other");
    for (const FieldManager& manager : {kUs, kGfd, FieldManager{"nfd-master", true}}) {
      if (*rc::gen::arbitrary<bool>()) {
        node.owners[key].insert(manager);
      }
    }
  }
  return node;
}

RC_GTEST_PROP(LabelPlanOnAnyNode, SettlesInOneStep, ()) {
  const NodeMetadata node = any_node();
  const LabelPlan plan = plan_labels(wanted(), node, {});
  const NodeMetadata after = applied(node, plan);
  const LabelPlan again = plan_labels(wanted(), after, {});
  RC_ASSERT(!again.is_apply_needed);
  RC_ASSERT(again.remove.empty());
  for (const auto& [key, value] : wanted().own) {
    RC_ASSERT(after.labels.at(key) == value);
  }
}

RC_GTEST_PROP(LabelPlanOnAnyNode, ChangesNoStandardLabelOfAnother, ()) {
  const NodeMetadata node = any_node();
  const NodeMetadata after = applied(node, plan_labels(wanted(), node, {}));
  for (const auto& [key, owners] : node.owners) {
    if (key.starts_with("nvidia.com/") && !(owners == std::set<FieldManager>{kUs})) {
      RC_ASSERT(after.labels.at(key) == node.labels.at(key));
    }
  }
}

}  // namespace
}  // namespace gpuskew
