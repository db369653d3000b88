#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/commands.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

Json row(const std::string& name, const std::string& verdict, const std::string& upgrade_state = "") {
  Json json;
  json["name"] = name;
  json["tag"] = verdict == "unknown" ? Json() : Json("550-5.15.0-119-generic-ubuntu22.04");
  json["verdict"] = verdict;
  json["why"] = verdict == "unknown" ? "no label" : "";
  json["notes"] = Json::array();
  if (!upgrade_state.empty()) {
    json["cluster"] = {{"ready", "yes"},
                       {"unschedulable", false},
                       {"upgrade_state", upgrade_state},
                       {"gpu_resources", Json::object()},
                       {"notes", Json::array()}};
  }
  return json;
}

class ReportCommandTest : public testing::Test {
 protected:
  ReportCommandTest() { play_aggregator(server_); }

  void play(const Json& nodes) {
    Json json = golden_json("audit.json");
    json["result"] = "ok";
    json["nodes"] = nodes;
    json["notes"] = Json::array();
    json["matrix"]["rows"] = 5;
    server_.answer("/api/v1/audit", json.dump());
    for (const Json& node : nodes) {
      Json answer = golden_json("node-gone.json");
      answer["name"] = node["name"];
      server_.answer("/api/v1/nodes/" + node["name"].get<std::string>(), answer.dump());
    }
  }

  Answer run(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), "report");
    const auto parsed = parse_command_line(arguments, {{"GPUSKEW_SERVER", server_.url()}});
    return run_command(std::get<Options>(parsed), kPipe, golden_now());
  }

  HttpImposter server_;
};

TEST_F(ReportCommandTest, HasALineForEachNode) {
  play(Json::array({row("lab-node-0", "ok", "upgrade-done"), row("lab-node-1.example", "ok", "upgrade-done")}));
  const Answer answer = run();
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out,
            "NODES=2\nSKEW=0\n"
            "LAB_NODE_0_TAG=550-5.15.0-119-generic-ubuntu22.04\n"
            "LAB_NODE_1_EXAMPLE_TAG=550-5.15.0-119-generic-ubuntu22.04\n"
            "MATRIX_ROWS=5\nUPGRADE_STATE=upgrade-done\n");
  EXPECT_EQ(Json::parse(run({"-o", "json"}).out)["NODES"], "2");
}

TEST_F(ReportCommandTest, OfOneNodeKeepsTheFleetsFigures) {
  play(Json::array({row("a", "missing", "none"), row("b", "ok", "upgrade-done")}));
  const Answer answer = run({"--node", "b"});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(answer.out,
            "NODES=2\nSKEW=1\nB_TAG=550-5.15.0-119-generic-ubuntu22.04\nMATRIX_ROWS=5\nUPGRADE_STATE=upgrade-done\n");
}

TEST_F(ReportCommandTest, NeverSaysNoSkewWhileATagIsUnknown) {
  play(Json::array({row("a", "ok"), row("b", "unknown")}));
  const Answer answer = run();
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_NE(answer.out.find("SKEW=unknown\nUNKNOWN=1\n"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("B_TAG=unknown\n"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("UPGRADE_STATE=unknown\n"), std::string::npos) << "no cluster was asked";
  EXPECT_EQ(answer.err, "b UNKNOWN no label\n");
}

TEST_F(ReportCommandTest, CountsNodesByUpgradeState) {
  play(Json::array(
      {row("a", "ok", "upgrade-done"), row("b", "ok", "upgrade-required"), row("c", "ok", "upgrade-done")}));
  EXPECT_NE(run().out.find("UPGRADE_STATE=upgrade-done:2,upgrade-required:1\n"), std::string::npos) << run().out;
}

TEST_F(ReportCommandTest, NamesThatWouldBeOneVariableAreAnError) {
  play(Json::array({row("a-1", "ok"), row("a.1", "ok")}));
  EXPECT_EQ(run().exit, ExitCode::NoAnswer);
  EXPECT_EQ(run().out, "");
  EXPECT_NE(run().err.find("nodes a-1 and a.1 would both be A_1_TAG"), std::string::npos) << run().err;
  EXPECT_EQ(run({"--node", "a.1"}).exit, ExitCode::Fine);
}

TEST_F(ReportCommandTest, AVariableBeginsWithNoDigit) {
  play(Json::array({row("10-0-0-1", "ok")}));
  EXPECT_NE(run().out.find("\n_10_0_0_1_TAG="), std::string::npos) << run().out;
}

TEST_F(ReportCommandTest, NamesANodeThatIsNotThere) {
  play(Json::array({row("a", "ok")}));
  const Answer answer = run({"--node", "n9"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.err, "gpuskew: no node n9 has reported\n");
}

}  // namespace
}  // namespace gpuskew
