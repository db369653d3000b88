#include "aggregator/cli/commands.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() { play_aggregator(server_); }

  Answer run(const std::vector<std::string>& arguments) const {
    const auto parsed = parse_command_line(arguments, {{"GPUSKEW_SERVER", server_.url()}});
    if (const auto* answer = std::get_if<Answer>(&parsed)) {
      return *answer;
    }
    return run_command(std::get<Options>(parsed), kPipe, golden_now());
  }

  /// A fleet of `total` nodes, of which `unknown` are unknown and none has a finding.
  void play_quiet_fleet(int total, int unknown) {
    Json status = golden_json("status.json");
    status["nodes"] = Json{{"total", total}, {"ok", total - unknown}, {"unknown", unknown}};
    status["findings"] = Json{{"critical", 0}, {"warning", 0}, {"info", 0}};
    server_.answer("/api/v1/status", status.dump());
    server_.answer("/api/v1/findings", R"({"findings":[]})");
  }

  HttpImposter server_;
};

TEST_F(CommandsTest, StatusWithFindingsEndsWith1) {
  const Answer answer = run({"status"});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(answer.out, golden_text("status.txt"));
  EXPECT_EQ(answer.err, "");
}

TEST_F(CommandsTest, StatusOfAHealthyFleetEndsWith0) {
  play_quiet_fleet(3, 0);
  const Answer answer = run({"status"});
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out.substr(0, 14), "3 nodes: 3 ok\n");
}

TEST_F(CommandsTest, StatusWithUnknownNodesIsNeverFine) {
  play_quiet_fleet(3, 1);
  for (const char* form : {"table", "json", "yaml"}) {
    const Answer answer = run({"status", "-o", form});
    EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
    EXPECT_NE(answer.out, "");
    EXPECT_NE(answer.err.find("1 node is unknown"), std::string::npos) << answer.err;
  }
}

TEST_F(CommandsTest, StatusOfAnEmptyFleetIsNeverFine) {
  play_quiet_fleet(0, 0);
  const Answer answer = run({"status"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_NE(answer.out.find("point gpuskew-agent at this aggregator"), std::string::npos) << answer.out;
}

TEST_F(CommandsTest, StatusAsJsonIsTheServersOwn) {
  const Answer answer = run({"status", "-o", "json"});
  EXPECT_EQ(Json::parse(answer.out), golden_json("status.json"));
  EXPECT_EQ(answer.exit, ExitCode::Findings);
}

TEST_F(CommandsTest, StatusIsNoAnswerWhenAPartOfItFails) {
  server_.answer("/api/v1/findings", 500, R"({"error":"history database: locked"})");
  const Answer answer = run({"status"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find("locked"), std::string::npos);
}

TEST_F(CommandsTest, NodesAreFilteredInEveryForm) {
  const Answer table = run({"nodes", "--state", "unknown"});
  EXPECT_EQ(table.exit, ExitCode::Fine);
  EXPECT_EQ(table.out.find("a100-07"), std::string::npos);
  EXPECT_NE(table.out.find("t4-03"), std::string::npos);
  const Json json = Json::parse(run({"nodes", "--state", "unknown", "-o", "json"}).out);
  ASSERT_EQ(json["nodes"].size(), 2U);
  EXPECT_EQ(json["nodes"][1], golden_json("nodes.json")["nodes"][3]);
  EXPECT_EQ(Json::parse(run({"nodes", "--kernel", "5.15.0-122-generic", "-o", "json"}).out)["nodes"].size(), 1U);
}

TEST_F(CommandsTest, NodesThatAreNoneLeaveStandardOutputEmpty) {
  const Answer answer = run({"nodes", "--state", "starting"});
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err, "gpuskew: no such node\n");
  EXPECT_EQ(run({"nodes", "--state", "starting", "-o", "json"}).out, "{\n  \"nodes\": []\n}\n");
}

TEST_F(CommandsTest, FindingsEndWith1WhenSomeAreShown) {
  const Answer answer = run({"findings"});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(answer.out, golden_text("findings.txt"));
  EXPECT_EQ(Json::parse(run({"findings", "--code", "agent-silent", "-o", "json"}).out)["findings"].size(), 1U);
}

TEST_F(CommandsTest, FindingsThatAreNoneAreFineOnlyInAKnownFleet) {
  play_quiet_fleet(3, 0);
  EXPECT_EQ(run({"findings"}).exit, ExitCode::Fine);
  play_quiet_fleet(3, 2);
  const Answer answer = run({"findings"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_NE(answer.err.find("2 nodes are unknown"), std::string::npos) << answer.err;
  play_quiet_fleet(0, 0);
  EXPECT_EQ(run({"findings"}).exit, ExitCode::NoAnswer);
}

TEST_F(CommandsTest, FindingsOfOneNode) {
  const Answer answer = run({"findings", "--node", "a100-07", "-o", "json"});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(Json::parse(answer.out)["findings"], golden_json("node-gone.json")["findings"]);
  EXPECT_EQ(run({"findings", "--node", "cpu-01"}).exit, ExitCode::Fine);
  EXPECT_EQ(run({"findings", "--node", "t4-03"}).exit, ExitCode::NoAnswer);
  EXPECT_EQ(run({"findings", "--node", "n9"}).err, "gpuskew: no node n9 has reported\n");
}

TEST_F(CommandsTest, ExplainAsksForTheImage) {
  const Answer answer = run({"explain", "a100-07"});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(answer.out, golden_text("explain-gone.txt"));
}

TEST_F(CommandsTest, ExplainDoesNotNeedTheAudit) {
  server_.answer("/api/v1/audit?node=a100-07", 409, R"({"error":"no matrix is configured; set matrix.file"})");
  const Answer answer = run({"explain", "a100-07"});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_NE(answer.out.find("unknown, because no matrix is configured; set matrix.file\n"), std::string::npos);
}

TEST_F(CommandsTest, ExplainOfANodeWithoutAGpuIsFine) {
  const Answer answer = run({"explain", "cpu-01"});
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, golden_text("explain-no-gpu.txt"));
}

TEST_F(CommandsTest, ExplainOfAnUnknownStateIsNeverFine) {
  const Answer answer = run({"explain", "t4-03"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, golden_text("explain-unknown.txt"));
  EXPECT_NE(answer.err.find("permission denied"), std::string::npos);
}

TEST_F(CommandsTest, ExplainOfNobodyIsNoAnswer) {
  const Answer answer = run({"explain", "n9"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err, "gpuskew: no node n9 has reported\n");
}

TEST_F(CommandsTest, ExplainEscapesANodesName) {
  server_.answer("/api/v1/nodes/a%2Fb", golden_text("node-no-gpu.json"));
  EXPECT_EQ(run({"explain", "a/b"}).exit, ExitCode::Fine);
}

TEST_F(CommandsTest, HistoryPassesTheLimitOn) {
  EXPECT_EQ(run({"history", "a100-07"}).out, golden_text("history.txt"));
  server_.answer("/api/v1/history/a100-07?limit=5", R"({"node":"a100-07","transitions":[]})");
  const Answer answer = run({"history", "a100-07", "--limit", "5"});
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, "");
}

TEST_F(CommandsTest, AReplyOfAnotherShapeNamesWhereAndWhat) {
  server_.answer("/api/v1/nodes", R"({"nodes":[{"name":"n1"}]})");
  const Answer answer = run({"nodes", "-o", "json"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find(server_.url() + "/api/v1/nodes"), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("nodes[0].state is missing"), std::string::npos) << answer.err;
}

TEST_F(CommandsTest, AServerThatIsNotThereIsNoAnswerToAnyQuestion) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status"},
                                                  {"nodes"},
                                                  {"findings"},
                                                  {"audit"},
                                                  {"explain", "n"},
                                                  {"tag", "n"},
                                                  {"history", "n"},
                                                  {"findings", "--node", "n"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--server", "http://127.0.0.1:1"});
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
    EXPECT_EQ(answer.out, "");
    EXPECT_NE(answer.err.find("http://127.0.0.1:1"), std::string::npos);
  }
}

TEST_F(CommandsTest, VersionAsksNobody) {
  EXPECT_EQ(run({"version"}).out, "gpuskew " GPUSKEW_VERSION "\n");
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace gpuskew
