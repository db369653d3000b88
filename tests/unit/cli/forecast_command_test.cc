#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/commands.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

class ForecastCommandTest : public testing::Test {
 protected:
  ForecastCommandTest() {
    play_aggregator(server_);
    server_.answer("/api/v1/forecast?kernel=5.15.0-122-generic", golden_text("forecast.json"));
  }

  Answer run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"forecast", "--kernel", "5.15.0-122-generic"});
    const auto parsed = parse_command_line(arguments, {{"GPUSKEW_SERVER", server_.url()}});
    return run_command(std::get<Options>(parsed), kPipe, golden_now());
  }

  /// What is answered for one node: its row of the golden forecast.
  void play_node(const std::string& name, std::size_t row) {
    Json json = golden_json("forecast.json");
    const Json node = json["nodes"][row];
    json["nodes"] = Json::array({node});
    server_.answer("/api/v1/forecast?kernel=5.15.0-122-generic&node=" + name, json.dump());
  }

  HttpImposter server_;
};

TEST_F(ForecastCommandTest, SaysOfEachNodeWhetherItsImageExists) {
  const Answer answer = run({});
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(answer.out,
            "a1 OK 550-5.15.0-122-generic-ubuntu22.04\n"
            "b2 MISSING 535-5.15.0-122-generic-ubuntu22.04\n");
  EXPECT_EQ(answer.err, "c3 UNKNOWN no tag: driver version is unknown, because permission denied\n");
}

TEST_F(ForecastCommandTest, OfNamedNodesOnly) {
  play_node("a1", 0);
  EXPECT_EQ(run({"a1"}).exit, ExitCode::Fine);
  EXPECT_EQ(run({"a1"}).out, "a1 OK 550-5.15.0-122-generic-ubuntu22.04\n");
  play_node("c3", 2);
  const Answer two = run({"a1", "c3"});
  EXPECT_EQ(two.exit, ExitCode::NoAnswer) << "none is missing, and one is unknown";
  EXPECT_EQ(two.out, "a1 OK 550-5.15.0-122-generic-ubuntu22.04\n");
  EXPECT_EQ(Json::parse(run({"a1", "c3", "-o", "json"}).out)["nodes"].size(), 2U);
}

TEST_F(ForecastCommandTest, ANodeThatTakesNoImageIsAnError) {
  Json json = golden_json("forecast.json");
  json["nodes"] = Json::array();
  server_.answer("/api/v1/forecast?kernel=5.15.0-122-generic&node=web", json.dump());
  const Answer answer = run({"web"});
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find("node web takes no driver image"), std::string::npos);
}

TEST_F(ForecastCommandTest, AnEmptyForecastIsNoAllClear) {
  Json json = golden_json("forecast.json");
  json["nodes"] = Json::array();
  server_.answer("/api/v1/forecast?kernel=5.15.0-122-generic", json.dump());
  EXPECT_EQ(run({}).exit, ExitCode::NoAnswer);
  EXPECT_EQ(run({}).out, "");
}

TEST_F(ForecastCommandTest, HasTables) {
  const std::string csv = run({"-o", "csv"}).out;
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "node,kernel,verdict,tag,why,notes");
  EXPECT_NE(run({"-o", "wide"}).out.find("c3    5.15.0-122-generic  unknown"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
