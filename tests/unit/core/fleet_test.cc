#include "core/fleet.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "nodes.h"

namespace gpuskew::testing {
namespace {

std::vector<std::string> told(const std::vector<Transition>& transitions) {
  std::vector<std::string> lines;
  for (const Transition& t : transitions) {
    lines.push_back(std::string(to_string(t.kind)) + " " + t.from + ">" + t.to);
  }
  return lines;
}

std::vector<Transition> report(Fleet& fleet, Snapshot snapshot, Time now) {
  return fleet.apply(std::move(snapshot), now).value();
}

TEST(Fleet, TellsEveryStepOfAKernelBump) {
  Fleet fleet{JudgePolicy{}};
  EXPECT_EQ(told(report(fleet, healthy_node(), kBoot)), (std::vector<std::string>{"node-seen >5.15.0-119-generic"}));
  const auto steps = told(report(fleet, bumped_node(), kLongAfterBoot));
  EXPECT_EQ(steps, (std::vector<std::string>{"boot boot-a>boot-b", "kernel 5.15.0-119-generic>5.15.0-122-generic",
                                             "driver 550.90.07>none", "finding-opened >gpu-gone-after-kernel-bump",
                                             "state ok>broken"}));
  const NodeRecord* record = fleet.find("gpu-node-1");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->verdict.findings.size(), 1u);
  EXPECT_EQ(record->history.last_good->kernel.text(), "5.15.0-119-generic");
}

TEST(Fleet, SaysNothingOfAReportThatChangesNothing) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  EXPECT_TRUE(report(fleet, healthy_node(), kLongAfterBoot).empty());
}

TEST(Fleet, ResolvesAFindingWhenTheDriverIsBack) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  report(fleet, bumped_node(), kLongAfterBoot);
  Snapshot back = bumped_node();
  back.loaded_driver = known(driver("550.90.07"));
  back.gpus = healthy_node().gpus;
  const auto steps = told(report(fleet, back, kLongAfterBoot + std::chrono::minutes(5)));
  EXPECT_EQ(steps, (std::vector<std::string>{"driver none>550.90.07", "finding-resolved gpu-gone-after-kernel-bump>",
                                             "state broken>ok"}));
}

TEST(Fleet, KeepsSinceAcrossReports) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  report(fleet, bumped_node(), kLongAfterBoot);
  const Time since = fleet.find("gpu-node-1")->verdict.findings.front().since;
  Snapshot again = bumped_node();
  again.libraries = absent<std::vector<Library>>();
  report(fleet, again, kLongAfterBoot + std::chrono::hours(1));
  EXPECT_EQ(fleet.find("gpu-node-1")->verdict.findings.front().since, since);
}

TEST(Fleet, RemembersAcrossARestartThatTheDriverWasThere) {
  Fleet before{JudgePolicy{}};
  report(before, healthy_node(), kBoot);
  Fleet after{JudgePolicy{}};
  after.restore(*before.find("gpu-node-1"), kLongAfterBoot);
  EXPECT_TRUE(after.tick(kLongAfterBoot).empty());
  const auto steps = told(report(after, bumped_node(), kLongAfterBoot));
  EXPECT_NE(std::find(steps.begin(), steps.end(), "finding-opened >gpu-gone-after-kernel-bump"), steps.end());
}

TEST(Fleet, OpensNoFindingTwiceAcrossARestart) {
  Fleet before{JudgePolicy{}};
  report(before, healthy_node(), kBoot);
  report(before, bumped_node(), kLongAfterBoot);
  Fleet after{JudgePolicy{}};
  after.restore(*before.find("gpu-node-1"), kLongAfterBoot + std::chrono::minutes(1));
  EXPECT_TRUE(after.tick(kLongAfterBoot + std::chrono::minutes(1)).empty());
  EXPECT_EQ(after.find("gpu-node-1")->verdict.state, NodeState::Broken);
}

TEST(Fleet, DoesNotCallTheWholeFleetSilentAfterItsOwnRestart) {
  const JudgePolicy policy;
  Fleet before{policy};
  report(before, healthy_node(), kBoot);
  Fleet after{policy};
  const Time restart = kBoot + std::chrono::hours(2);
  after.restore(*before.find("gpu-node-1"), restart);
  EXPECT_TRUE(after.tick(restart).empty());
  EXPECT_EQ(after.find("gpu-node-1")->verdict.state, NodeState::Ok);
  const auto steps = told(after.tick(restart + policy.silent_after));
  EXPECT_EQ(steps, (std::vector<std::string>{"finding-opened >agent-silent", "state ok>unknown"}));
}

TEST(Fleet, JudgesByTimeAloneWhenAGraceEnds) {
  const JudgePolicy policy;
  Fleet fleet{policy};
  report(fleet, healthy_node(), kBoot - std::chrono::hours(1));
  Snapshot starting = bumped_node();
  starting.module_file = known(ModuleFile{"/lib/modules/x/nvidia.ko", denied<DriverVersion>()});
  report(fleet, starting, kBoot + std::chrono::seconds(20));
  EXPECT_EQ(fleet.find("gpu-node-1")->verdict.state, NodeState::Starting);
  fleet.heard_from("gpu-node-1", kBoot + policy.boot_grace - Duration{1});
  fleet.tick(kBoot + policy.boot_grace - Duration{1});
  EXPECT_EQ(fleet.find("gpu-node-1")->verdict.state, NodeState::Starting);
  ASSERT_TRUE(fleet.next_tick().has_value());
  EXPECT_LE(*fleet.next_tick(), kBoot + policy.boot_grace);
  fleet.tick(kBoot + policy.boot_grace);
  EXPECT_EQ(fleet.find("gpu-node-1")->verdict.state, NodeState::Broken);
}

TEST(Fleet, HeartbeatsKeepANodeFromBeingSilentAndEndItsSilence) {
  const JudgePolicy policy;
  Fleet fleet{policy};
  Time now = kBoot;
  report(fleet, healthy_node(), now);
  for (int beat = 0; beat < 10; ++beat) {
    now += policy.silent_after / 2;
    fleet.heard_from("gpu-node-1", now);
    EXPECT_TRUE(fleet.tick(now).empty());
  }
  now += policy.silent_after;
  EXPECT_EQ(fleet.tick(now).size(), 2u);
  fleet.heard_from("gpu-node-1", now + std::chrono::seconds(1));
  const auto steps = told(fleet.tick(now + std::chrono::seconds(1)));
  EXPECT_EQ(steps, (std::vector<std::string>{"finding-resolved agent-silent>", "state unknown>ok"}));
}

TEST(Fleet, KeepsInMindThatThereWereGpusWhenADriverStaysWithoutAny) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  Snapshot lost = healthy_node();
  lost.gpus = known(std::vector<Gpu>{});
  const auto steps = told(report(fleet, lost, kLongAfterBoot));
  EXPECT_EQ(steps, (std::vector<std::string>{"gpus 2>0", "finding-opened >gpu-count-drop", "state ok>broken"}));
  EXPECT_TRUE(report(fleet, lost, kLongAfterBoot).empty());
}

TEST(Fleet, JudgesEveryNodeAgainWithANewMatrix) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  auto matrix = std::make_shared<Matrix>(Matrix::parse_csv("driver_branch,kernel,os_tag\n").value());
  const auto steps = told(fleet.set_rules(JudgePolicy{}, matrix, kBoot + std::chrono::seconds(1)));
  EXPECT_EQ(steps, (std::vector<std::string>{"finding-opened >image-missing", "state ok>degraded"}));
  EXPECT_EQ(fleet.set_rules(JudgePolicy{}, nullptr, kBoot + std::chrono::seconds(2)).size(), 2u);
}

TEST(Fleet, SaysUnknownInTheHistoryWhenAFactCouldNotBeRead) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  Snapshot blind = healthy_node();
  blind.loaded_driver = denied<DriverVersion>();
  const auto steps = report(fleet, blind, kLongAfterBoot);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front().to, "unknown");
  EXPECT_EQ(steps.front().detail, "permission denied");
}

TEST(Fleet, ANodeWithoutAnAgentIsShownAndNotJudged) {
  Fleet fleet{JudgePolicy{}};
  Snapshot snapshot;
  snapshot.node = "gpu-node-1";
  Verdict verdict;
  verdict.why = "no agent reports from this node";
  fleet.put_unheard(snapshot, verdict);
  EXPECT_TRUE(fleet.set_rules(JudgePolicy{}, nullptr, kLongAfterBoot).empty());
  ASSERT_NE(fleet.find("gpu-node-1"), nullptr);
  EXPECT_EQ(fleet.find("gpu-node-1")->verdict, verdict);
  EXPECT_FALSE(fleet.next_tick());
}

TEST(Fleet, ANodeWhoseAgentSpeaksAtLastIsANewOne) {
  Fleet fleet{JudgePolicy{}};
  Snapshot snapshot;
  snapshot.node = "gpu-node-1";
  fleet.put_unheard(snapshot, Verdict{});
  EXPECT_EQ(told(report(fleet, healthy_node(), kBoot)), (std::vector<std::string>{"node-seen >5.15.0-119-generic"}));
  fleet.put_unheard(snapshot, Verdict{});
  EXPECT_EQ(fleet.find("gpu-node-1")->verdict.state, NodeState::Ok) << "what was heard is not overruled";
}

TEST(Fleet, ANodeThatIsForgottenIsNotVisitedAgain) {
  Fleet fleet{JudgePolicy{}};
  report(fleet, healthy_node(), kBoot);
  ASSERT_TRUE(fleet.next_tick());
  const std::uint64_t before = fleet.verdicts_given();
  fleet.forget("gpu-node-1");
  fleet.forget("no-such-node");
  EXPECT_EQ(fleet.find("gpu-node-1"), nullptr);
  EXPECT_FALSE(fleet.next_tick());
  EXPECT_GT(fleet.verdicts_given(), before);
}

}  // namespace
}  // namespace gpuskew::testing
