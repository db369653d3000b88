#include "agent/check.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

constexpr Time kNow = from_unix_ms(1'790'000'000'000);

Finding found(FindingCode code) {
  Finding finding;
  finding.code = code;
  finding.severity = Severity::Warning;
  finding.cause = "because \x1b[2J";
  return finding;
}

Verdict verdict_of(NodeState state, std::vector<Finding> findings = {}) {
  Verdict verdict;
  verdict.state = state;
  verdict.why = state == NodeState::Ok ? "" : "why";
  verdict.findings = std::move(findings);
  return verdict;
}

CheckAnswer now(const Verdict& verdict) {
  return answer_of(narrowed(verdict, CheckScope::Now), CheckScope::Now);
}

CheckAnswer at_next_boot(NextBootGpu gpu, std::vector<Finding> findings = {}) {
  Verdict verdict = verdict_of(NodeState::Ok, std::move(findings));
  verdict.next_boot.gpu = gpu;
  return answer_of(narrowed(verdict, CheckScope::NextBoot), CheckScope::NextBoot);
}

TEST(Check, IsGoodWhereNothingIsToJudge) {
  EXPECT_EQ(now(verdict_of(NodeState::Ok)), CheckAnswer::Good);
  EXPECT_EQ(now(verdict_of(NodeState::NoGpu)), CheckAnswer::Good);
  EXPECT_EQ(now(verdict_of(NodeState::NotJudged)), CheckAnswer::Good);
}

TEST(Check, CouldNotTellWhatIsUnknownOrStillComing) {
  EXPECT_EQ(now(verdict_of(NodeState::Unknown)), CheckAnswer::CouldNotTell);
  EXPECT_EQ(now(verdict_of(NodeState::Starting)), CheckAnswer::CouldNotTell);
}

TEST(Check, HasFindingsEvenWhereMoreIsUnknown) {
  EXPECT_EQ(now(verdict_of(NodeState::Broken, {found(FindingCode::DriverNotLoaded)})), CheckAnswer::Findings);
  EXPECT_EQ(now(verdict_of(NodeState::Unknown, {found(FindingCode::InstallConflict)})), CheckAnswer::Findings);
}

TEST(Check, LetsWarningsPassWhereOnlyWhatIsCriticalCounts) {
  Finding broken = found(FindingCode::DriverNotLoaded);
  broken.severity = Severity::Critical;
  const auto critical = [](const Verdict& verdict) {
    return answer_of(narrowed(verdict, CheckScope::CriticalNow), CheckScope::CriticalNow);
  };
  EXPECT_EQ(critical(verdict_of(NodeState::Degraded, {found(FindingCode::InstallConflict)})), CheckAnswer::Good);
  EXPECT_EQ(critical(verdict_of(NodeState::Broken, {broken})), CheckAnswer::Findings);
  EXPECT_EQ(critical(verdict_of(NodeState::Unknown, {found(FindingCode::InstallConflict)})), CheckAnswer::CouldNotTell);
}

TEST(Check, HoldsAGateThatWaitsForADriverOnANodeThatNeverHadOne) {
  const Verdict verdict = verdict_of(NodeState::Degraded, {found(FindingCode::DriverNotLoaded)});
  EXPECT_EQ(answer_of(narrowed(verdict, CheckScope::CriticalNow), CheckScope::CriticalNow), CheckAnswer::Findings);
}

TEST(Check, SaysWhatAnAllClearLeavesOut) {
  Snapshot snapshot;
  snapshot.kernel_log =
      Fact<std::vector<KernelLogEvent>>::unknown(Error{ErrorCode::Denied, "permission denied"}, "/var/log/journal");
  const Verdict verdict = verdict_of(NodeState::Ok);
  EXPECT_NE(check_text(snapshot, verdict, CheckScope::Now).find("kernel_log: permission denied"), std::string::npos);
  EXPECT_EQ(check_json(snapshot, verdict, CheckScope::Now)["unknown"]["kernel_log"], "permission denied");
}

TEST(Check, DoesNotHoldABootThatWorksForTheNextOneThatWillNot) {
  const Verdict verdict = verdict_of(NodeState::Degraded, {found(FindingCode::ModuleMissingNextKernel)});
  EXPECT_EQ(now(verdict), CheckAnswer::Good);
  EXPECT_EQ(narrowed(verdict, CheckScope::Now).state, NodeState::Ok);
}

TEST(Check, AnswersForTheNextBootAlone) {
  EXPECT_EQ(at_next_boot(NextBootGpu::Keeps), CheckAnswer::Good);
  EXPECT_EQ(at_next_boot(NextBootGpu::NotApplicable), CheckAnswer::Good);
  EXPECT_EQ(at_next_boot(NextBootGpu::Loses), CheckAnswer::Findings);
  EXPECT_EQ(at_next_boot(NextBootGpu::CannotTell), CheckAnswer::CouldNotTell);
  EXPECT_EQ(at_next_boot(NextBootGpu::Keeps, {found(FindingCode::RuntimeRestartNeeded)}), CheckAnswer::Good);
}

TEST(Check, KnowsNothingOfANodeOfWhichNothingWasRead) {
  const Verdict verdict = judge_alone(Snapshot{}, JudgePolicy{}, kNow, kNow);
  EXPECT_EQ(answer_of(narrowed(verdict, CheckScope::Now), CheckScope::Now), CheckAnswer::CouldNotTell);
}

TEST(Check, PutsNoControlCharacterOnATerminal) {
  Snapshot snapshot;
  snapshot.node = "gpu-1";
  const std::string text =
      check_text(snapshot, verdict_of(NodeState::Broken, {found(FindingCode::GpuFailed)}), CheckScope::Now);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("gpu-1: broken: why\n"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu-failed (warning)"), std::string::npos) << text;
  EXPECT_NE(text.find("because \\x1b[2J"), std::string::npos) << text;
}

TEST(Check, TellsProgramsTheScopeAndTheExitCode) {
  Verdict verdict = verdict_of(NodeState::Ok);
  verdict.next_boot.gpu = NextBootGpu::Loses;
  const auto json = check_json(Snapshot{}, narrowed(verdict, CheckScope::NextBoot), CheckScope::NextBoot);
  EXPECT_EQ(json["scope"], "next-boot");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_TRUE(json["findings"].empty());
}

}  // namespace
}  // namespace gpuskew
