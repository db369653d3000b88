// Whatever is wrong with arguments or configuration: exit 2, and a message that names what and where.

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

void expect_refusal(const Outcome& outcome, std::initializer_list<std::string_view> named) {
  EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string_view part : named) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in: " << outcome.err;
  }
}

class BadInput : public testing::Test {
 protected:
  Outcome check_aggregator(std::string_view sections) {
    stack_.configure(sections);
    return run({program("gpuskew-aggregator"), "--config", stack_.config_file(), "--check-config"});
  }
  Outcome check_agent(std::string_view yaml) {
    const auto file = stack_.directory() / "agent.yaml";
    write_file(file, yaml);
    return run({program("gpuskew-agent"), "--config", file, "--check-config"});
  }
  std::string good_agent() {
    const TlsFiles files = stack_.agent_files(Stack::kNode);
    return "node: gpu-node-1\nhost_root: " + tree_.path().string() +
           "\nstate_directory: " + stack_.directory().string() +
           "\naggregator:\n  address: 127.0.0.1:7481\n  ca: " + files.ca.string() +
           "\n  certificate: " + files.certificate.string() + "\n  key: " + files.key.string() + "\n";
  }

  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
};

TEST_F(BadInput, CheckConfigTakesAGoodAggregatorConfiguration) {
  const Outcome outcome = check_aggregator("judge:\n  boot_grace: 5m\nlog:\n  level: debug\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(BadInput, CheckConfigTakesAGoodAgentConfiguration) {
  const Outcome outcome = check_agent(good_agent() + "intervals:\n  poll: 5s\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(BadInput, AggregatorNamesLineAndKeyOfAnUnknownKey) {
  expect_refusal(check_aggregator("judge:\n  boot_grce: 5m\n"), {"aggregator.yaml:11", "boot_grce"});
}

TEST_F(BadInput, AggregatorNamesAValueOfTheWrongType) {
  expect_refusal(check_aggregator("judge:\n  boot_grace: soon\n"), {"aggregator.yaml:11", "boot_grace", "soon"});
}

TEST_F(BadInput, AggregatorNamesAMatrixThatIsNotThere) {
  expect_refusal(check_aggregator("matrix:\n  file: /nowhere/matrix.csv\n"), {"/nowhere/matrix.csv"});
}

TEST_F(BadInput, AggregatorNamesLineAndColumnOfABrokenMatrix) {
  const auto matrix = stack_.directory() / "matrix.csv";
  write_file(matrix, "driver_branch,kernel,os_tag\n550,5.15.0-119-generic\n");
  expect_refusal(check_aggregator("matrix:\n  file: " + matrix.string() + "\n"), {"matrix.csv", "2"});
}

TEST_F(BadInput, AggregatorNamesABrokenCertificate) {
  write_file(stack_.directory() / "aggregator.pem", "not a certificate\n");
  expect_refusal(check_aggregator(""), {"aggregator.pem"});
}

TEST_F(BadInput, AggregatorRefusesPlainHttpForEverybody) {
  const std::string good = read_file(stack_.config_file());
  const auto file = stack_.directory() / "open.yaml";
  std::string open = good;
  open.replace(open.find("listen: 127.0.0.1:0", open.find("api:")), 19, "listen: 0.0.0.0:7480");
  write_file(file, open);
  expect_refusal(run({program("gpuskew-aggregator"), "--config", file, "--check-config"}),
                 {"api.listen", "0.0.0.0:7480"});
}

TEST_F(BadInput, AgentNamesLineAndKeyOfAnUnknownKey) {
  expect_refusal(check_agent("node: gpu-node-1\naggregatr:\n  address: a:1\n"), {"agent.yaml:2", "aggregatr"});
}

TEST_F(BadInput, AgentNamesACertificateThatIsNotThere) {
  std::string yaml = good_agent();
  const std::string certificate = stack_.agent_files(Stack::kNode).certificate.string();
  yaml.replace(yaml.find(certificate), certificate.size(), "/nowhere/agent.pem");
  expect_refusal(check_agent(yaml), {"/nowhere/agent.pem"});
}

TEST_F(BadInput, AgentNamesAHostRootThatIsNotThere) {
  expect_refusal(run({program("gpuskew-agent"), "facts", "--host-root", "/nowhere"}), {"/nowhere"});
}

TEST_F(BadInput, AgentNamesAnAddressWithoutAPort) {
  std::string yaml = good_agent();
  yaml.replace(yaml.find("127.0.0.1:7481"), 14, "127.0.0.1");
  expect_refusal(check_agent(yaml), {"address", "127.0.0.1"});
}

TEST_F(BadInput, EveryProgramNamesAnArgumentItDoesNotKnow) {
  for (const auto* name : {"gpuskew", "gpuskew-agent", "gpuskew-aggregator"}) {
    expect_refusal(run({program(name), "--no-such-option"}), {"--no-such-option"});
  }
}

TEST_F(BadInput, EveryProgramNamesAConfigurationOrServerThatIsNotThere) {
  expect_refusal(run({program("gpuskew-aggregator"), "--config", "/nowhere/a.yaml"}), {"/nowhere/a.yaml"});
  expect_refusal(run({program("gpuskew-agent"), "--config", "/nowhere/a.yaml"}), {"/nowhere/a.yaml"});
  expect_refusal(run({program("gpuskew"), "--server", "http://127.0.0.1:1", "status"}), {"127.0.0.1:1"});
  expect_refusal(run({program("gpuskew"), "--server", "ftp://x", "status"}), {"ftp://x"});
}

TEST_F(BadInput, TheCommandNamesAFormatItDoesNotKnow) {
  expect_refusal(run({program("gpuskew"), "-o", "xml", "status"}), {"xml"});
}

TEST_F(BadInput, TheCommandNamesAMissingNode) {
  expect_refusal(run({program("gpuskew"), "explain"}), {"NODE"});
}

TEST_F(BadInput, EveryProgramTeachesWithHelpAndSaysItsVersion) {
  for (const auto* name : {"gpuskew", "gpuskew-agent", "gpuskew-aggregator"}) {
    const Outcome help = run({program(name), "--help"});
    EXPECT_EQ(help.code, 0) << name << help.err;
    EXPECT_GT(help.out.size(), 200U) << name;
    const Outcome version = run({program(name), "--version"});
    EXPECT_EQ(version.code, 0) << name << version.err;
    EXPECT_NE(version.out.find(GPUSKEW_VERSION), std::string::npos) << name << version.out;
  }
}

}  // namespace
}  // namespace gpuskew
