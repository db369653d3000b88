#include "aggregator/command_line.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

std::variant<AggregatorCommandLine, CommandLineEnd> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "gpuskew-aggregator");
  return parse_aggregator_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(AggregatorCommandLine, HelpTeachesTheConfigurationAndTheExitCodes) {
  const auto end = std::get<CommandLineEnd>(parse({"--help"}));
  EXPECT_EQ(end.code, 0);
  for (const char* part : {"--check-config", "client_ca", "SIGHUP", "Exit codes", "--listen-agents"}) {
    EXPECT_NE(end.text.find(part), std::string::npos) << part;
  }
}

TEST(AggregatorCommandLine, MistakesEndWithCodeTwoAndNameTheArgument) {
  const auto end = std::get<CommandLineEnd>(parse({"--chek-config"}));
  EXPECT_EQ(end.code, 2);
  EXPECT_NE(end.text.find("--chek-config"), std::string::npos);
}

TEST(AggregatorCommandLine, FlagsWinOverTheFile) {
  TempDir directory;
  const std::string file =
      directory.write("a.yaml", "agents: {certificate: /c, key: /k, client_ca: /a, listen: \"1.2.3.4:5\"}").string();
  const auto line = std::get<AggregatorCommandLine>(parse({"--config", file.c_str(), "--listen-agents", "127.0.0.1:0",
                                                           "--listen-api", "127.0.0.1:1", "--database", "/x.db"}));
  Result<Config> config = load_config(line);
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->agents.listen, "127.0.0.1:0");
  EXPECT_EQ(config->api.listen, "127.0.0.1:1");
  EXPECT_EQ(config->history.path, "/x.db");
  EXPECT_FALSE(config->kubernetes.acting_dry_run);
}

TEST(AggregatorCommandLine, ADryRunWinsOverAFileThatActs) {
  TempDir directory;
  const std::string file = directory
                               .write("a.yaml",
                                      "agents: {certificate: /c, key: /k, client_ca: /a}\n"
                                      "kubernetes: {enabled: true, acting: {taint: true}}\n")
                               .string();
  const auto line = std::get<AggregatorCommandLine>(parse({"--config", file.c_str(), "--dry-run"}));
  Result<Config> config = load_config(line);
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_TRUE(config->kubernetes.acting_dry_run);
}

}  // namespace
}  // namespace gpuskew
