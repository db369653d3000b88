#include <gtest/gtest.h>

#include "core/judge.h"
#include "nodes.h"

namespace gpuskew::testing {
namespace {

Verdict judge_now(const Snapshot& snapshot, const NodeHistory& history = NodeHistory{}) {
  return judge(snapshot, history, JudgePolicy{}, nullptr, kLongAfterBoot, kLongAfterBoot);
}

Snapshot node_with_one_gpu_less() {
  Snapshot s = healthy_node();
  s.gpus = known(std::vector<Gpu>{gpu("0000:3b:00.0")});
  return s;
}

TEST(GpuCount, SaysWhichOfTheGpusIsNotOnTheBusAnyMore) {
  const Verdict verdict = judge_now(node_with_one_gpu_less(), history_of_healthy());
  EXPECT_EQ(verdict.state, NodeState::Degraded);
  ASSERT_EQ(verdict.findings.size(), 1u);
  const Finding& finding = verdict.findings.front();
  EXPECT_EQ(finding.code, FindingCode::GpuCountDrop);
  EXPECT_EQ(finding.severity, Severity::Warning);
  EXPECT_EQ(finding.cause, "1 of the 2 GPUs this node had is not on the PCI bus: 0000:af:00.0");
  EXPECT_EQ(finding.affected_gpus, (std::vector<std::string>{"0000:af:00.0"}));
  EXPECT_NE(finding.next_step.find("expected_gpus: 1"), std::string::npos);
}

TEST(GpuCount, TakesTheOperatorsWordForACardThatWasTakenOut) {
  Snapshot s = node_with_one_gpu_less();
  s.expected_gpus = 1;
  EXPECT_TRUE(judge_now(s, history_of_healthy()).findings.empty());
}

TEST(GpuCount, IsBrokenWhereTheOperatorExpectsMoreThanThereAre) {
  Snapshot s = healthy_node();
  s.expected_gpus = 8;
  const Verdict verdict = judge_now(s);
  EXPECT_EQ(verdict.state, NodeState::Broken);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().severity, Severity::Critical);
  EXPECT_EQ(verdict.findings.front().cause, "6 of the 8 GPUs this node should have are not on the PCI bus");
}

TEST(GpuCount, MissesGpusThatWereExpectedAndNeverSeen) {
  Snapshot s = healthy_node();
  s.gpus = known(std::vector<Gpu>{});
  s.expected_gpus = 2;
  const Verdict verdict = judge_now(s);
  EXPECT_EQ(verdict.state, NodeState::Broken);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings.front().cause, "none of the GPUs this node should have (2) is on the PCI bus");
}

TEST(GpuCount, ClaimsNothingWhereTheBusCanNotBeRead) {
  Snapshot s = healthy_node();
  s.gpus = denied<std::vector<Gpu>>();
  const Verdict verdict = judge_now(s, history_of_healthy());
  EXPECT_EQ(verdict.state, NodeState::Unknown);
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(GpuCount, RemembersTheGreaterNumberWithItsAddresses) {
  LastGood fewer = good_state(node_with_one_gpu_less()).value();
  keep_known_gpus(good_state(healthy_node()), fewer);
  EXPECT_EQ(fewer.gpu_count, 2u);
  EXPECT_EQ(fewer.gpus, (std::vector<std::string>{"0000:3b:00.0", "0000:af:00.0"}));

  LastGood more = good_state(healthy_node()).value();
  keep_known_gpus(good_state(node_with_one_gpu_less()), more);
  EXPECT_EQ(more.gpu_count, 2u);
}

}  // namespace
}  // namespace gpuskew::testing
