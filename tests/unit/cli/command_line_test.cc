#include "aggregator/cli/command_line.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using Arguments = std::vector<std::string>;

Options options_of(const Arguments& arguments, const EnvVars& environment = {}) {
  auto parsed = parse_command_line(arguments, environment);
  if (const auto* answer = std::get_if<Answer>(&parsed)) {
    ADD_FAILURE() << answer->err;
    return {};
  }
  return std::get<Options>(parsed);
}

/// The error line of arguments that are wrong.
std::string complaint(const Arguments& arguments) {
  const auto parsed = parse_command_line(arguments, {});
  const auto* answer = std::get_if<Answer>(&parsed);
  if (answer == nullptr) {
    return "taken";
  }
  EXPECT_EQ(answer->exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer->out, "");
  return answer->err;
}

TEST(CommandLine, KnowsEveryCommand) {
  EXPECT_EQ(options_of({"status"}).command, Command::Status);
  EXPECT_EQ(options_of({"nodes"}).command, Command::Nodes);
  EXPECT_EQ(options_of({"findings"}).command, Command::Findings);
  EXPECT_EQ(options_of({"audit"}).command, Command::Audit);
  EXPECT_EQ(options_of({"explain", "n1"}).node, "n1");
  EXPECT_EQ(options_of({"history", "n1"}).command, Command::History);
  EXPECT_EQ(options_of({"tag", "n1"}).command, Command::Tag);
  EXPECT_EQ(options_of({"version"}).command, Command::Version);
  EXPECT_EQ(options_of({"--version"}).command, Command::Version);
}

TEST(CommandLine, TakesGlobalOptionsBeforeAndBehindTheCommand) {
  for (const Arguments& arguments : {Arguments{"-o", "json", "--server", "http://h", "explain", "n1"},
                                     Arguments{"explain", "n1", "-o", "json", "--server", "http://h"},
                                     Arguments{"explain", "--output=json", "n1", "--server=http://h"}}) {
    const Options options = options_of(arguments);
    EXPECT_EQ(options.format, Format::Json);
    EXPECT_EQ(options.server.url, "http://h");
    EXPECT_EQ(options.node, "n1");
  }
}

TEST(CommandLine, TakesANodeNamedLikeACommand) {
  EXPECT_EQ(options_of({"explain", "status"}).command, Command::Explain);
  EXPECT_EQ(options_of({"explain", "status"}).node, "status");
}

TEST(CommandLine, SplitsFiltersAtCommas) {
  EXPECT_EQ(options_of({"nodes", "--state", "broken,unknown"}).nodes.states, (Arguments{"broken", "unknown"}));
  const Options options = options_of({"findings", "--severity", "critical", "--code", "a,b", "--node", "n1"});
  EXPECT_EQ(options.findings.severities, Arguments{"critical"});
  EXPECT_EQ(options.findings.codes, (Arguments{"a", "b"}));
  EXPECT_EQ(options.findings.node, "n1");
}

TEST(CommandLine, TakesTheEnvironmentWhereNoFlagIsGiven) {
  const EnvVars environment = {{"GPUSKEW_SERVER", "https://env"},
                               {"GPUSKEW_CA", "/ca"},
                               {"GPUSKEW_CERT", "/cert"},
                               {"GPUSKEW_KEY", "/key"},
                               {"GPUSKEW_TOKEN_FILE", "/token"}};
  const ServerOptions server = options_of({"status", "--ca", "/other"}, environment).server;
  EXPECT_EQ(server.url, "https://env");
  EXPECT_EQ(server.ca, "/other");
  EXPECT_EQ(server.certificate, "/cert");
  EXPECT_EQ(server.key, "/key");
  EXPECT_EQ(server.token_file, "/token");
}

TEST(CommandLine, CountsAnEmptyVariableAsNotSet) {
  EXPECT_EQ(options_of({"status"}, {{"GPUSKEW_SERVER", ""}}).server.url, "http://127.0.0.1:7480");
}

TEST(CommandLine, SuggestsTheNearestCommand) {
  EXPECT_EQ(complaint({"stauts"}),
            "gpuskew: unknown command stauts (did you mean status?); gpuskew --help lists the commands\n");
  EXPECT_EQ(complaint({"kubectl"}), "gpuskew: unknown command kubectl; gpuskew --help lists the commands\n");
}

TEST(CommandLine, NamesAnUnknownOptionAndTheNearest) {
  EXPECT_EQ(complaint({"nodes", "--stat", "x"}),
            "gpuskew: unknown option --stat (did you mean --state?); see gpuskew nodes --help\n");
  EXPECT_EQ(complaint({"--bogus"}), "gpuskew: unknown option --bogus; gpuskew --help lists the commands\n");
  EXPECT_EQ(complaint({"status", "extra"}), "gpuskew: unexpected argument extra; see gpuskew status --help\n");
}

TEST(CommandLine, NamesWordsThatAreNone) {
  EXPECT_NE(complaint({"nodes", "--state", "brken"}).find("did you mean broken?"), std::string::npos);
  EXPECT_NE(complaint({"findings", "--severity", "loud"}).find("critical, warning, info"), std::string::npos);
  EXPECT_NE(complaint({"--color", "red", "status"}).find("auto, always, never"), std::string::npos);
}

TEST(CommandLine, NamesTheFormsACommandHas) {
  EXPECT_EQ(complaint({"status", "-o", "csv"}), "gpuskew: status has no form -o csv; it has table, json, yaml\n");
  EXPECT_EQ(complaint({"nodes", "-o", "xml"}),
            "gpuskew: nodes has no form -o xml; it has table, wide, json, yaml, csv\n");
}

TEST(CommandLine, AsksForTheNode) {
  EXPECT_NE(complaint({"explain"}).find("explain needs a node: gpuskew explain NODE"), std::string::npos);
  EXPECT_NE(complaint({"history"}).find("history needs a node"), std::string::npos);
  EXPECT_NE(complaint({"tag"}).find("--os-version"), std::string::npos);
}

TEST(CommandLine, TakesEitherANodeOrPartsOfATag) {
  EXPECT_NE(complaint({"tag", "n1", "--kernel", "5"}).find("not both"), std::string::npos);
  EXPECT_EQ(options_of({"tag", "--os", "ubuntu"}).tag_parts.os, "ubuntu");
}

TEST(CommandLine, RefusesNamesThatNoNodeHas) {
  for (const std::string& name : {std::string("."), std::string(".."), std::string(254, 'a')}) {
    EXPECT_NE(complaint({"explain", name}).find("no node can be called"), std::string::npos);
    EXPECT_NE(complaint({"findings", "--node", name}).find("no node can be called"), std::string::npos);
  }
}

TEST(CommandLine, BoundsTheHistory) {
  EXPECT_EQ(options_of({"history", "n1", "--limit", "10000"}).history_limit, 10'000U);
  for (const char* limit : {"0", "10001", "-1", "many", "99999999999999999999"}) {
    EXPECT_NE(complaint({"history", "n1", "--limit", limit}).find("--limit"), std::string::npos) << limit;
  }
}

TEST(CommandLine, NamesAnOptionWithoutItsValue) {
  EXPECT_NE(complaint({"status", "--server"}).find("--server"), std::string::npos);
}

TEST(CommandLine, ShowsNoControlCharactersFromItsArguments) {
  EXPECT_EQ(complaint({"\x1b[2J"}).find('\x1b'), std::string::npos);
}

TEST(CommandLine, TeachesWhenNothingIsAsked) {
  EXPECT_NE(complaint({}).find("usage: gpuskew COMMAND"), std::string::npos);
}

TEST(CommandLine, AnswersHelpInEveryWay) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"-h"}, Arguments{"help"}, Arguments{"--server", "x", "--help"}}) {
    const auto parsed = parse_command_line(arguments, {});
    const auto& answer = std::get<Answer>(parsed);
    EXPECT_EQ(answer.exit, ExitCode::Fine);
    EXPECT_NE(answer.out.find("What is broken now?"), std::string::npos);
  }
  for (const Arguments& arguments :
       {Arguments{"tag", "--help"}, Arguments{"help", "tag"}, Arguments{"tag", "n1", "-h"}}) {
    const auto parsed = parse_command_line(arguments, {});
    EXPECT_EQ(std::get<Answer>(parsed).out.substr(0, 12), "gpuskew tag:");
  }
  EXPECT_NE(complaint({"help", "stats"}).find("did you mean status?"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
