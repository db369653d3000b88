#include "core/acting.h"

#include <gtest/gtest.h>

#include "nodes.h"

namespace gpuskew::testing {
namespace {

constexpr ActingPolicy kAll{true, true, true, 0.10};

/// A fleet of `well` + `gone` nodes that the cluster has, too.
class Acting : public ::testing::Test {
 protected:
  void add(const std::string& name, Snapshot before, std::optional<Snapshot> after = std::nullopt) {
    before.node = name;
    ASSERT_TRUE(fleet_.apply(std::move(before), kBoot));
    if (after) {
      after->node = name;
      ASSERT_TRUE(fleet_.apply(std::move(*after), kLongAfterBoot));
    }
    marks_[name];
  }
  void add_well(int count) {
    for (int i = 0; i < count; ++i) {
      add("well-" + std::to_string(i), healthy_node());
    }
  }
  void add_gone(int count) {
    for (int i = 0; i < count; ++i) {
      add("gone-" + std::to_string(i), healthy_node(), bumped_node());
    }
  }
  ActionPlan plan(const ActingPolicy& policy = kAll) const { return plan_actions(fleet_.nodes(), marks_, policy); }

  static std::vector<std::string> lines(const ActionPlan& plan) {
    std::vector<std::string> out;
    for (const Action& action : plan.actions) {
      out.push_back(action.node + " " + std::string(to_string(action.kind)) + " " + action.condition.status + " " +
                    action.condition.reason + (action.event ? " event" : ""));
    }
    return out;
  }

  Fleet fleet_{JudgePolicy{}};
  std::map<std::string, NodeMarks, std::less<>> marks_;
};

TEST_F(Acting, DoesNothingUnlessTold) {
  add_well(3);
  add_gone(1);
  EXPECT_TRUE(plan(ActingPolicy{}).actions.empty());
}

TEST_F(Acting, AKernelBumpGetsConditionEventAndTaint) {
  add_well(1);
  add_gone(1);
  EXPECT_EQ(lines(plan()), (std::vector<std::string>{
                               "gone-0 set-condition False GpuGoneAfterKernelBump event",
                               "well-0 set-condition True GpuReady",
                               "gone-0 add-taint False GpuGoneAfterKernelBump",
                           }));
  EXPECT_NE(plan().actions[0].condition.message.find("5.15.0-122-generic"), std::string::npos);
}

TEST_F(Acting, WhatIsDoneIsNotDoneAgain) {
  add_well(1);
  add_gone(1);
  for (const Action& action : plan().actions) {
    if (action.kind == ActionKind::SetCondition) {
      marks_[action.node].condition = action.condition;
    } else {
      marks_[action.node].tainted = true;
    }
  }
  EXPECT_EQ(lines(plan()), std::vector<std::string>{});
}

TEST_F(Acting, ANodeThatIsBackLosesItsTaint) {
  add_well(1);
  marks_["well-0"] = {ConditionMark{"False", "DriverNotLoaded", "..."}, "", true};
  EXPECT_EQ(lines(plan()), (std::vector<std::string>{"well-0 set-condition True GpuReady event",
                                                     "well-0 remove-taint True GpuReady"}));
}

TEST_F(Acting, ANodeThatCanNotBeReadKeepsItsTaintAndGetsNone) {
  Snapshot unread = bumped_node();
  unread.loaded_driver = denied<DriverVersion>();
  unread.gpus = denied<std::vector<Gpu>>();
  unread.module_file = denied<ModuleFile>();
  add("unread", healthy_node(), unread);
  ASSERT_EQ(fleet_.find("unread")->verdict.state, NodeState::Unknown) << fleet_.find("unread")->verdict.why;
  EXPECT_EQ(lines(plan()), std::vector<std::string>{"unread set-condition Unknown Unknown event"});
  marks_["unread"].tainted = true;
  EXPECT_EQ(lines(plan()), std::vector<std::string>{"unread set-condition Unknown Unknown event"});
}

TEST_F(Acting, ANodeNobodyReportsIsLeftAlone) {
  marks_["stranger"].tainted = true;
  marks_["stranger"].condition = ConditionMark{"True", "GpuReady", ""};
  EXPECT_EQ(lines(plan()), std::vector<std::string>{});
}

TEST_F(Acting, ANodeThatLeftTheClusterIsPassedOver) {
  add_gone(1);
  marks_.clear();
  EXPECT_EQ(lines(plan()), std::vector<std::string>{});
}

TEST_F(Acting, ANodeWithoutAGpuLosesTheCondition) {
  Snapshot none = healthy_node();
  none.gpus = known(std::vector<Gpu>{});
  none.loaded_driver = absent<DriverVersion>();
  none.loaded_flavour = absent<ModuleFlavour>();
  none.libraries = absent<std::vector<Library>>();
  none.module_file = absent<ModuleFile>();
  add("plain", none);
  ASSERT_EQ(fleet_.find("plain")->verdict.state, NodeState::NoGpu);
  EXPECT_EQ(lines(plan()), std::vector<std::string>{});
  marks_["plain"].condition = ConditionMark{"True", "GpuReady", ""};
  EXPECT_EQ(lines(plan()), std::vector<std::string>{"plain drop-condition  "});
}

TEST_F(Acting, ATenthOfTheFleetMayBeTainted) {
  add_well(18);
  add_gone(2);
  const ActionPlan made = plan(ActingPolicy{false, false, true, 0.10});
  EXPECT_EQ(made.actions.size(), 2u);
  EXPECT_FALSE(made.fuse);
  EXPECT_EQ(made.most_tainted, 2u);
}

TEST_F(Acting, MoreThanATenthBlowsTheFuseAndTaintsNobody) {
  add_well(17);
  add_gone(3);
  const ActionPlan made = plan(ActingPolicy{false, false, true, 0.10});
  EXPECT_TRUE(made.actions.empty());
  ASSERT_TRUE(made.fuse);
  EXPECT_EQ(*made.fuse,
            "3 of 20 GPU nodes would carry the taint gpuskew.io/gpu-gone, 2 may (10%): no node is tainted until this "
            "is looked at");
}

TEST_F(Acting, TaintsThatStandCountForTheFuse) {
  add_well(18);
  add_gone(2);
  marks_["gone-0"].tainted = true;
  marks_["stranger"].tainted = true;
  const ActionPlan made = plan(ActingPolicy{false, false, true, 0.10});
  EXPECT_TRUE(made.actions.empty());
  EXPECT_TRUE(made.fuse);
}

TEST_F(Acting, ABlownFuseStillHeals) {
  add_well(1);
  add_gone(3);
  marks_["well-0"].tainted = true;
  const ActionPlan made = plan(ActingPolicy{false, false, true, 0.10});
  EXPECT_EQ(lines(made), std::vector<std::string>{"well-0 remove-taint True GpuReady"});
  EXPECT_TRUE(made.fuse);
}

TEST_F(Acting, OneNodeOfASmallFleetMayAlwaysBeTainted) {
  add_well(2);
  add_gone(1);
  EXPECT_EQ(plan(ActingPolicy{false, false, true, 0.10}).actions.size(), 1u);
}

TEST_F(Acting, AMessageIsCutBetweenCharacters) {
  Verdict verdict;
  verdict.state = NodeState::Unknown;
  verdict.why = std::string(kMaxConditionMessage - 1, 'x') + "\u00e9";
  EXPECT_EQ(condition_for(verdict)->message, std::string(kMaxConditionMessage - 1, 'x'));
}

TEST_F(Acting, OneLostGpuOfTwoIsNotGone) {
  add_gone(1);
  NodeRecord record = *fleet_.find("gone-0");
  EXPECT_TRUE(is_gpu_gone(record));
  record.verdict.findings.front().affected_gpus = {"0000:3b:00.0"};
  EXPECT_FALSE(is_gpu_gone(record));
  record.verdict.findings.front().affected_gpus.clear();
  record.verdict.findings.front().code = FindingCode::GpuFailed;
  EXPECT_FALSE(is_gpu_gone(record));
}

}  // namespace
}  // namespace gpuskew::testing
