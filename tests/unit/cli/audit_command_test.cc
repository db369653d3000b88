#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/aggregator_source.h"
#include "aggregator/cli/commands.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

class AuditCommandTest : public testing::Test {
 protected:
  AuditCommandTest() { play_aggregator(server_); }

  Answer audit(Format format = Format::Table) {
    ServerOptions to;
    to.url = server_.url();
    AggregatorSource source(ApiClient::open(to).value());
    Options options;
    options.command = Command::Audit;
    options.format = format;
    return audit_command(source, options, kPipe);
  }

  /// The golden audit with the nodes of these verdicts only.
  void play(const std::string& result, const std::vector<std::string>& verdicts) {
    Json json = golden_json("audit.json");
    Json nodes = Json::array();
    for (const Json& node : json["nodes"]) {
      if (std::find(verdicts.begin(), verdicts.end(), node["verdict"]) != verdicts.end()) {
        nodes.push_back(node);
      }
    }
    json["result"] = result;
    json["nodes"] = nodes;
    json["notes"] = Json::array();
    server_.answer("/api/v1/audit", json.dump());
  }

  HttpImposter server_;
};

TEST_F(AuditCommandTest, NamesNodeAndMissingTag) {
  const Answer answer = audit();
  EXPECT_EQ(answer.exit, ExitCode::Findings);
  EXPECT_EQ(answer.out,
            "a100-07 MISSING 550-5.15.0-122-generic-ubuntu22.04\n"
            "rt-01 MISSING 550-5.14.0-427.el9.x86_64_rt-rhel9.4\n");
  EXPECT_EQ(answer.err,
            "t4-03 UNKNOWN no tag: driver version is unknown, because reading /sys/module/nvidia/version: permission "
            "denied\n"
            "note: rt-01: RT kernel: precompiled DaemonSet name invalid\n"
            "note: rhel9.4: two kernels share one DaemonSet name\n");
}

TEST_F(AuditCommandTest, SaysOkWhenEveryImageExists) {
  play("ok", {"ok"});
  const Answer answer = audit();
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, "OK\n");
  EXPECT_EQ(answer.err, "");
}

TEST_F(AuditCommandTest, NeverSaysOkWhileATagIsUnknown) {
  play("unknown", {"ok", "unknown"});
  const Answer answer = audit();
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err.substr(0, 14), "t4-03 UNKNOWN ");
}

TEST_F(AuditCommandTest, NeverSaysOkWhenTheServerDoesNot) {
  play("unknown", {"ok"});
  EXPECT_EQ(audit().exit, ExitCode::NoAnswer);
  EXPECT_EQ(audit().out, "");
}

TEST_F(AuditCommandTest, NeverSaysOkToAVerdictItDoesNotKnow) {
  Json json = golden_json("audit.json");
  json["result"] = "ok";
  json["nodes"] = Json::array({json["nodes"][1]});
  json["nodes"][0]["verdict"] = "building";
  server_.answer("/api/v1/audit", json.dump());
  EXPECT_EQ(audit().exit, ExitCode::NoAnswer);
}

TEST_F(AuditCommandTest, OfAFleetWithoutGpusIsOkAndSaysSo) {
  play("ok", {});
  const Answer answer = audit();
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, "OK\n");
  EXPECT_EQ(answer.err, "note: none of the 9 nodes has an NVIDIA GPU or driver\n");
}

TEST_F(AuditCommandTest, OfAnEmptyFleetIsNoAnswer) {
  play("ok", {});
  Json status = golden_json("status.json");
  status["nodes"]["total"] = 0;
  server_.answer("/api/v1/status", status.dump());
  const Answer answer = audit();
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find("no node has reported"), std::string::npos);
}

TEST_F(AuditCommandTest, PassesOnThatNoMatrixIsConfigured) {
  server_.answer("/api/v1/audit", 409, R"({"error":"no matrix is configured; set matrix.file in /etc/a.yaml"})");
  const Answer answer = audit();
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err, "gpuskew: no matrix is configured; set matrix.file in /etc/a.yaml\n");
}

TEST_F(AuditCommandTest, SaysThatAnOldMatrixCounts) {
  Json json = golden_json("audit.json");
  json["matrix"]["error"] = "line 7: 2 columns";
  server_.answer("/api/v1/audit", json.dump());
  EXPECT_NE(audit().err.find("note: the last reading of the matrix failed, the one before it counts: line 7"),
            std::string::npos);
}

TEST_F(AuditCommandTest, HasEveryNodeInTheOtherForms) {
  EXPECT_EQ(audit(Format::Wide).out, golden_text("audit-wide.txt"));
  EXPECT_EQ(Json::parse(audit(Format::Json).out), golden_json("audit.json"));
  EXPECT_EQ(audit(Format::Csv).out.substr(0, 28), "node,verdict,tag,why,notes\na");
  EXPECT_EQ(audit(Format::Csv).exit, ExitCode::Findings);
}

}  // namespace
}  // namespace gpuskew
