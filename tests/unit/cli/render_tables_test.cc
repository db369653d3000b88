#include <gtest/gtest.h>

#include "aggregator/cli/render.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

std::vector<NodeRow> nodes() {
  return nodes_reply(golden_json("nodes.json")).value();
}

std::vector<FindingReply> findings() {
  return findings_reply(golden_json("findings.json")).value();
}

std::vector<TransitionReply> history() {
  return history_reply(golden_json("history.json")).value();
}

TEST(NodesTable, IsNarrowForPeople) {
  EXPECT_EQ(nodes_table(nodes(), TableForm::Narrow, golden_now()).to_text(kPipe), golden_text("nodes.txt"));
}

TEST(NodesTable, HasEverythingWhenWide) {
  EXPECT_EQ(nodes_table(nodes(), TableForm::Wide, golden_now()).to_text(kPipe), golden_text("nodes-wide.txt"));
}

TEST(NodesTable, HasTimesInsteadOfAgesInCsv) {
  EXPECT_EQ(nodes_table(nodes(), TableForm::Csv, golden_now()).to_csv(), golden_text("nodes.csv"));
}

TEST(NodesTable, TellsANodeThatNeverSpoke) {
  std::vector<NodeRow> rows = nodes();
  rows.resize(1);
  rows[0].last_heard.reset();
  EXPECT_NE(nodes_table(rows, TableForm::Narrow, golden_now()).to_text(kPipe).find("  never  "), std::string::npos);
}

TEST(FindingsTable, IsNarrowForPeople) {
  EXPECT_EQ(findings_table(findings(), TableForm::Narrow, golden_now()).to_text(kPipe), golden_text("findings.txt"));
}

TEST(FindingsTable, HasTheNextStepInCsv) {
  EXPECT_EQ(findings_table(findings(), TableForm::Csv, golden_now()).to_csv(), golden_text("findings.csv"));
}

TEST(HistoryTable, HasTimesAndAges) {
  EXPECT_EQ(history_table(history(), TableForm::Narrow, golden_now()).to_text(kPipe), golden_text("history.txt"));
}

TEST(HistoryTable, HasTimesOnlyInCsv) {
  EXPECT_EQ(history_table(history(), TableForm::Csv, golden_now()).to_csv(), golden_text("history.csv"));
}

TEST(AuditTable, HasEveryNodesVerdict) {
  const AuditReply audit = audit_reply(golden_json("audit.json")).value();
  EXPECT_EQ(audit_table(audit).to_text(kPipe), golden_text("audit-wide.txt"));
}

TEST(FactTexts, TellNoneFromUnknown) {
  const auto known = Fact<std::string>::known("550", "s");
  const auto absent = Fact<std::string>::absent("s");
  const auto unknown = Fact<std::string>::unknown(Error{ErrorCode::Denied, "permission denied"}, "s");
  EXPECT_EQ(short_text(known), "550");
  EXPECT_EQ(short_text(absent), "none");
  EXPECT_EQ(short_text(unknown), "unknown");
  EXPECT_EQ(long_text(absent, "none loaded"), "none loaded");
  EXPECT_EQ(long_text(unknown, "none loaded"), "unknown, because permission denied");
}

TEST(AgoText, NeverLooksAhead) {
  EXPECT_EQ(ago_text(golden_now() - std::chrono::minutes(134), golden_now()), "2h14m ago");
  EXPECT_EQ(ago_text(golden_now() + std::chrono::hours(1), golden_now()), "0s ago");
}

}  // namespace
}  // namespace gpuskew
