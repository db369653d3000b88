#include "aggregator/cli/side_notes.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

AuditRow row(const std::string& node, const std::string& verdict, std::vector<std::string> contradictions = {}) {
  AuditRow row;
  row.node = node;
  row.verdict = verdict;
  row.why = "why";
  row.cluster.emplace();
  row.cluster->notes = std::move(contradictions);
  return row;
}

TEST(SideNotes, NamesNodesOfAnUnknownImage) {
  EXPECT_EQ(unknown_lines({row("a", "ok"), row("b", "missing"), row("c", "unknown"), row("d", "another")}),
            "c UNKNOWN why\nd UNKNOWN why\n");
}

TEST(SideNotes, NamesContradictionsAndCountsThoseOfManyNodes) {
  EXPECT_EQ(contradiction_lines({row("a", "ok"), row("b", "ok", {"one", "two"})}), "note: b: one\nnote: b: two\n");
  const std::vector<AuditRow> many(kShownContradictions + 3, row("n", "ok", {"odd"}));
  const std::string lines = contradiction_lines(many);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), static_cast<std::ptrdiff_t>(kShownContradictions + 1));
  EXPECT_NE(lines.find("note: 3 more nodes are at odds"), std::string::npos) << lines;
}

TEST(SideNotes, SaysNothingWhereNoClusterWasAsked) {
  AuditRow plain = row("a", "ok");
  plain.cluster.reset();
  EXPECT_EQ(contradiction_lines({plain}), "");
}

}  // namespace
}  // namespace gpuskew
