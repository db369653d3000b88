#include <algorithm>

#include <gtest/gtest.h>

#include "aggregator/cli/render.h"
#include "aggregator/cli/screen_text.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

StatusReply status() {
  return status_reply(golden_json("status.json")).value();
}

std::vector<FindingReply> findings() {
  return findings_reply(golden_json("findings.json")).value();
}

std::vector<NodeRow> unknown_nodes() {
  std::vector<NodeRow> nodes = nodes_reply(golden_json("nodes.json")).value();
  std::erase_if(nodes, [](const NodeRow& node) { return node.state != "unknown"; });
  return nodes;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(RenderStatus, ShowsTheFleetAtAGlance) {
  EXPECT_EQ(render_status(status(), findings(), unknown_nodes(), kPipe), golden_text("status.txt"));
}

TEST(RenderStatus, FitsAScreenHoweverMuchIsWrong) {
  const std::vector<FindingReply> few = findings();
  std::vector<FindingReply> many;
  for (int i = 0; i < 1000; ++i) {
    for (FindingReply finding : few) {
      finding.code += std::to_string(i);
      many.push_back(finding);
    }
  }
  const std::vector<NodeRow> unknown(5000, unknown_nodes().front());
  const std::string text = render_status(status(), many, unknown, Screen{false, 80});
  EXPECT_LE(lines_in(text), 24U) << text;
}

TEST(RenderStatus, CutsProseButNoCommandOnATerminal) {
  const std::string text = render_status(status(), findings(), {}, Screen{false, 60});
  EXPECT_NE(text.find("  next: ssh a100-07 'sudo dkms autoinstall -k 5.15.0-122-generic && sudo modprobe nvidia'\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  driver 550.90.07 worked on kernel 5.15.0-119-generic; aft…\n"), std::string::npos) << text;
}

TEST(RenderStatus, OfAHealthyFleetIsThreeLines) {
  StatusReply healthy = status();
  healthy.total = 2;
  healthy.by_state = {{"ok", 2}, {"broken", 0}};
  healthy.by_severity = {{"critical", 0}};
  EXPECT_EQ(render_status(healthy, {}, {}, kPipe),
            "2 nodes: 2 ok\nfindings: none\nmatrix: 412 images from /etc/gpuskew/support-matrix.csv\n");
}

TEST(RenderStatus, OfAnEmptyFleetSaysWhatToDo) {
  StatusReply empty = status();
  empty.total = 0;
  empty.matrix = MatrixReply{};
  EXPECT_EQ(render_status(empty, {}, {}, kPipe), golden_text("status-empty.txt"));
}

TEST(RenderStatus, SaysWhatTheAggregatorCanNotDo) {
  StatusReply troubled = status();
  troubled.matrix.error = "line 3: 2 columns";
  troubled.history_error = "disk full";
  const std::string text = render_status(troubled, {}, {}, kPipe);
  EXPECT_NE(text.find("; the last reading failed: line 3: 2 columns\n"), std::string::npos) << text;
  EXPECT_NE(text.find("history: can not be written: disk full\n"), std::string::npos) << text;
}

TEST(RenderStatus, CountsStatesOfANewerAggregator) {
  StatusReply newer = status();
  newer.by_state = {{"on-fire", 3}, {"ok", 1}};
  EXPECT_EQ(render_status(newer, {}, {}, kPipe).substr(0, 27), "9 nodes: 1 ok, 3 on-fire\nfi");
}

TEST(RenderStatus, IsPaintedOnATerminal) {
  const std::string text = render_status(status(), findings(), {}, Screen{true, {}});
  EXPECT_NE(text.find("\x1b[1;31m4 broken\x1b[0m"), std::string::npos);
  EXPECT_NE(text.find("\x1b[1;31mCRITICAL\x1b[0m"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
