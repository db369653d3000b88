#include "agent/config.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kWhole = R"(node: gpu-node-1
host_root: /host
state_directory: /var/lib/state
aggregator:
  address: gpuskew.example:7481
  server_name: aggregator
  ca: ca.pem
  certificate: node.pem
  key: node.key
labels: {publish: nfd, resync: 2m, kubeconfig: node.kubeconfig, nfd_directory: /features.d}
intervals: {heartbeat: 10s, poll: 5s}
log: {level: debug}
)";

std::string problem_of(const std::string& text) {
  const auto config = parse_agent_config("agent.yaml", text);
  return config ? "no problem" : config.error().what;
}

AgentCommandLine line_of(const std::vector<const char*>& arguments) {
  std::vector<const char*> argv{"gpuskew-agent"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const auto parsed = parse_agent_command_line(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(std::holds_alternative<AgentCommandLine>(parsed));
  return std::holds_alternative<AgentCommandLine>(parsed) ? std::get<AgentCommandLine>(parsed) : AgentCommandLine{};
}

CommandLineEnd end_of(const std::vector<const char*>& arguments) {
  std::vector<const char*> argv{"gpuskew-agent"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const auto parsed = parse_agent_command_line(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(std::holds_alternative<CommandLineEnd>(parsed));
  return std::holds_alternative<CommandLineEnd>(parsed) ? std::get<CommandLineEnd>(parsed) : CommandLineEnd{};
}

TEST(AgentConfigTest, PublishesNoLabelsUnlessToldTo) {
  const auto config = parse_agent_config("agent.yaml", "");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->labels.publish, LabelWay::None);
  EXPECT_EQ(parse_agent_config("agent.yaml", "labels: {publish: api}")->labels.publish, LabelWay::Api);
  EXPECT_EQ(problem_of("labels: {publish: yes}").substr(0, 28), "agent.yaml:1: labels.publish");
  EXPECT_EQ(problem_of("labels: {resync: 2h}").substr(0, 27), "agent.yaml:1: labels.resync");
}

TEST(AgentConfigTest, ReadsEveryKey) {
  const auto config = parse_agent_config("agent.yaml", kWhole);
  ASSERT_TRUE(config) << config.error().what;
  AgentConfig expected;
  expected.node = "gpu-node-1";
  expected.host_root = "/host";
  expected.state_directory = "/var/lib/state";
  expected.aggregator = {HostPort{"gpuskew.example", 7481}, "aggregator", TlsFiles{"ca.pem", "node.pem", "node.key"}};
  expected.labels = {LabelWay::Nfd, std::chrono::minutes(2), "node.kubeconfig", "/features.d"};
  expected.heartbeat = std::chrono::seconds(10);
  expected.poll = std::chrono::seconds(5);
  expected.log_level = LogLevel::Debug;
  EXPECT_EQ(*config, expected);
}

TEST(AgentConfigTest, AnEmptyFileIsTheDefaults) {
  const auto config = parse_agent_config("agent.yaml", "");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(*config, AgentConfig{});
  EXPECT_EQ(config->host_root, "/");
  EXPECT_EQ(config->state_directory, "/var/lib/gpuskew-agent");
  EXPECT_EQ(config->heartbeat, std::chrono::seconds(30));
  EXPECT_EQ(config->poll, std::chrono::seconds(15));
}

struct WrongFile {
  const char* text;
  const char* where;  ///< file and line
  const char* what;   ///< the key, or the reason
};

class WrongAgentConfigTest : public ::testing::TestWithParam<WrongFile> {};

TEST_P(WrongAgentConfigTest, IsNamedWithLineAndKey) {
  const std::string problem = problem_of(GetParam().text);
  EXPECT_NE(problem.find(GetParam().where), std::string::npos) << problem;
  EXPECT_NE(problem.find(GetParam().what), std::string::npos) << problem;
}

INSTANTIATE_TEST_SUITE_P(
    Files, WrongAgentConfigTest,
    ::testing::Values(WrongFile{"nodes: a\n", "agent.yaml:1", "nodes"},
                      WrongFile{"node: a\nhostroot: /\n", "agent.yaml:2", "hostroot"},
                      WrongFile{"state_dir: /x\n", "agent.yaml:1", "state_dir"},
                      WrongFile{"aggregator:\n  adress: a:1\n", "agent.yaml:2", "aggregator.adress"},
                      WrongFile{"aggregator:\n  client_ca: a\n", "agent.yaml:2", "aggregator.client_ca"},
                      WrongFile{"intervals:\n  heart_beat: 1s\n", "agent.yaml:2", "intervals.heart_beat"},
                      WrongFile{"log:\n  file: x\n", "agent.yaml:2", "log.file"},
                      WrongFile{"node: GPU-1\n", "agent.yaml:1", "\"GPU-1\" is no node name"},
                      WrongFile{"node: a_b\n", "agent.yaml:1", "is no node name"},
                      WrongFile{"node: \"\"\n", "agent.yaml:1", "is no node name"},
                      WrongFile{"node: [a]\n", "agent.yaml:1", "node"},
                      WrongFile{"host_root: \"\"\n", "agent.yaml:1", "host_root"},
                      WrongFile{"aggregator: here\n", "agent.yaml:1", "aggregator"},
                      WrongFile{"aggregator:\n  address: example.org\n", "agent.yaml:2", "aggregator.address"},
                      WrongFile{"aggregator:\n  address: a:70000\n", "agent.yaml:2", "aggregator.address"},
                      WrongFile{"aggregator:\n  ca: \"\"\n", "agent.yaml:2", "aggregator.ca"},
                      WrongFile{"intervals:\n  heartbeat: 30\n", "agent.yaml:2", "intervals.heartbeat"},
                      WrongFile{"intervals:\n  heartbeat: 1ms\n", "agent.yaml:2", "intervals.heartbeat"},
                      WrongFile{"intervals:\n  poll: 2h\n", "agent.yaml:2", "intervals.poll"},
                      WrongFile{"log:\n  level: loud\n", "agent.yaml:2", "log.level"},
                      WrongFile{"node: a\nnode: b\n", "agent.yaml:2", "node"},
                      WrongFile{"node: {\n", "agent.yaml:", ""}, WrongFile{"- node\n", "agent.yaml:1", ""}));

TEST(CommandLineTest, RunIsWhatHappensWithoutACommand) {
  EXPECT_EQ(line_of({}).command, AgentCommand::Run);
  EXPECT_EQ(line_of({"run"}).command, AgentCommand::Run);
  EXPECT_EQ(line_of({"facts"}).command, AgentCommand::Facts);
}

TEST(CommandLineTest, FlagsStandBeforeOrBehindTheCommand) {
  EXPECT_EQ(line_of({"--node", "a", "run"}).node, "a");
  EXPECT_EQ(line_of({"run", "--node", "a", "--once"}).node, "a");
  const AgentCommandLine facts = line_of({"facts", "--json", "--host-root", "/host"});
  EXPECT_TRUE(facts.json);
  EXPECT_EQ(facts.host_root, "/host");
}

TEST(CommandLineTest, HelpTeachesWithExamplesAndExitsFine) {
  const CommandLineEnd help = end_of({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.text.find("Examples:"), std::string::npos);
  EXPECT_NE(help.text.find("gpuskew-agent facts --json"), std::string::npos);
  EXPECT_NE(end_of({"facts", "--help"}).text.find("--json"), std::string::npos);
  EXPECT_EQ(end_of({"--version"}).text, "gpuskew-agent " GPUSKEW_VERSION "\n");
}

TEST(CommandLineTest, AMistakeIsNamedAndIsNotTheWholeHelp) {
  for (const auto& [arguments, part] : std::vector<std::pair<std::vector<const char*>, const char*>>{
           {{"--nod", "a"}, "--nod"},
           {{"fact"}, "fact"},
           {{"--node"}, "--node"},
           {{"run", "--json"}, "--json"},
           {{"--check-config", "--once"}, "exclude each other"},
           {{"facts", "--once"}, "--once does not go with facts"}}) {
    const CommandLineEnd end = end_of(arguments);
    EXPECT_EQ(end.code, 2);
    EXPECT_NE(end.text.find(part), std::string::npos) << end.text;
    EXPECT_EQ(std::count(end.text.begin(), end.text.end(), '\n'), 1) << end.text;
  }
}

class LoadAgentConfigTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text) const {
    tree_.write("/agent.yaml", text);
    return (tree_.path() / "agent.yaml").string();
  }
  Result<AgentConfig> load(const AgentCommandLine& line, std::string_view environment = "") const {
    return load_agent_config(line, environment);
  }

  ScratchTree tree_;
};

TEST_F(LoadAgentConfigTest, AFlagWinsOverTheFile) {
  const std::string name = file(kWhole);
  const auto config =
      load(line_of({"--config", name.c_str(), "--node", "b", "--host-root", "/h", "--state-directory", "/s",
                    "--aggregator", "127.0.0.1:1", "--ca", "c", "--certificate", "d", "--key", "e"}));
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->node, "b");
  EXPECT_EQ(config->host_root, "/h");
  EXPECT_EQ(config->state_directory, "/s");
  EXPECT_EQ(config->aggregator, (AggregatorConfig{HostPort{"127.0.0.1", 1}, "127.0.0.1", TlsFiles{"c", "d", "e"}}));
  EXPECT_EQ(config->heartbeat, std::chrono::seconds(10));
}

TEST_F(LoadAgentConfigTest, ATokenFileIsAnIdentityByFileOrByFlag) {
  const std::string name = file("aggregator: {address: a.example:1, ca: ca.pem, token_file: /run/token}\n");
  EXPECT_EQ(load(line_of({"--config", name.c_str()}))->aggregator.token_file, "/run/token");
  EXPECT_EQ(load(line_of({"--config", name.c_str(), "--token-file", "/t"}))->aggregator.token_file, "/t");
  EXPECT_FALSE(load(line_of({"--config", name.c_str(), "--token-file", ""})));
}

TEST_F(LoadAgentConfigTest, ATokenFileBesideACertificateIsOneIdentityTooMany) {
  for (const char* more : {"certificate: c.pem", "key: c.key", "certificate: c.pem, key: c.key"}) {
    const std::string name =
        file("aggregator: {address: a.example:1, token_file: /run/token, " + std::string(more) + "}\n");
    const auto config = load(line_of({"--config", name.c_str()}));
    ASSERT_FALSE(config) << more;
    EXPECT_EQ(config.error().code, ErrorCode::Malformed);
    EXPECT_NE(config.error().what.find("aggregator.token_file"), std::string::npos) << config.error().what;
  }
  const std::string name = file("aggregator: {address: a.example:1, certificate: c.pem, key: c.key}\n");
  EXPECT_FALSE(load(line_of({"--config", name.c_str(), "--token-file", "/t"})));
}

TEST_F(LoadAgentConfigTest, TheServersNameIsTheHostUnlessSaid) {
  const std::string name = file("aggregator: {address: a.example:1}\n");
  EXPECT_EQ(load(line_of({"--config", name.c_str()}))->aggregator.server_name, "a.example");
  EXPECT_EQ(load(line_of({"--config", name.c_str(), "--server-name", "b"}))->aggregator.server_name, "b");
}

TEST_F(LoadAgentConfigTest, ANamedFileMustBeThere) {
  const auto config = load(line_of({"--config", "/no/such/agent.yaml"}));
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().what.find("/no/such/agent.yaml"), std::string::npos);
}

TEST_F(LoadAgentConfigTest, TheEnvironmentNamesTheNodeLast) {
  const std::string named = file("node: from-file\n");
  EXPECT_EQ(load(line_of({"--config", named.c_str()}), "from-environment")->node, "from-file");
  const std::string empty = file("");
  EXPECT_EQ(load(line_of({"--config", empty.c_str()}), "from-environment")->node, "from-environment");
  EXPECT_EQ(load(line_of({"--config", empty.c_str(), "--node", "flag"}), "from-environment")->node, "flag");
  EXPECT_EQ(load(line_of({"--config", empty.c_str()}))->node, "");
}

TEST_F(LoadAgentConfigTest, AWrongFlagIsNamed) {
  const std::string name = file("");
  const auto problem = [&](const char* flag, const char* value) {
    const auto config = load(line_of({"--config", name.c_str(), flag, value}));
    return config ? "no problem" : config.error().what;
  };
  EXPECT_NE(problem("--aggregator", "host").find("--aggregator"), std::string::npos);
  EXPECT_NE(problem("--node", "Not_A_Name").find("--node: \"Not_A_Name\""), std::string::npos);
  EXPECT_EQ(problem("--ca", ""), "--ca is empty");
  EXPECT_NE(load(line_of({"--config", name.c_str()}), "NO").error().what.find("$NODE_NAME"), std::string::npos);
}

class NodeNameTest : public ::testing::Test {
 protected:
  Result<std::string> name() const { return node_name(AgentConfig{}, tree_.root()); }

  ScratchTree tree_;
};

TEST_F(NodeNameTest, ConfigurationWins) {
  tree_.write("/etc/hostname", "other\n");
  AgentConfig config;
  config.node = "mine";
  EXPECT_EQ(node_name(config, tree_.root()), "mine");
}

TEST_F(NodeNameTest, IsTheHostsNameInLowerCase) {
  tree_.write("/etc/hostname", "  GPU-Node-1.Example.COM \n");
  tree_.write("/proc/sys/kernel/hostname", "other\n");
  EXPECT_EQ(name(), "gpu-node-1.example.com");
}

TEST_F(NodeNameTest, IsTheKernelsWhereTheFileIsMissingOrEmpty) {
  tree_.write("/proc/sys/kernel/hostname", "from-kernel\n");
  EXPECT_EQ(name(), "from-kernel");
  tree_.write("/etc/hostname", "\n");
  EXPECT_EQ(name(), "from-kernel");
}

TEST_F(NodeNameTest, AWrongNameIsNamedWithItsFile) {
  tree_.write("/etc/hostname", "(none)\n");
  const auto wrong = name();
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what.find("/etc/hostname: \"(none)\""), std::string::npos) << wrong.error().what;
}

TEST_F(NodeNameTest, NoNameAnywhereSaysWhatWasTried) {
  const auto none = name();
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("/etc/hostname"), std::string::npos) << none.error().what;
  EXPECT_NE(none.error().what.find("/proc/sys/kernel/hostname"), std::string::npos) << none.error().what;
}

}  // namespace
}  // namespace gpuskew
