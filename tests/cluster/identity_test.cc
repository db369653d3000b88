// Who an agent and a reader are, by the tokens that a real API server issues and reviews: the shipped programs, with
// the rights that deploy/kubernetes gives the aggregator.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/deployment.h"
#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

constexpr std::string_view kAudience = "gpuskew-aggregator";
constexpr const char* kNode1 = "gpu-node-1";
constexpr const char* kNode2 = "gpu-node-2";

class Identity : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    cluster().make_node({.name = kNode1});
    cluster().make_node({.name = kNode2});
    deployment_ = std::make_unique<Deployment>(cluster(), std::vector<std::string>{});
    deployment_->install_rights();
    deployment_->put_pod("agent-1", kAgentAccount, kNode1);
  }

  void start_aggregator(std::string_view account, const std::string& more = "") {
    stack_.configure("kubernetes:\n  enabled: true\n  kubeconfig: " +
                     deployment_->kubeconfig(deployment_->token(account)).string() + "\n" + more);
    stack_.start_aggregator();
  }

  Outcome report(std::string_view node, const std::string& token) {
    const std::filesystem::path file = stack_.directory() / "token";
    write_file(file, token);
    return run(stack_.token_agent_command(node, tree_, file, {"--once"}));
  }

  void expect_refused(const std::string& node, const std::string& token, const std::string& why) {
    const Outcome outcome = report(node, token);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(token), std::string::npos) << "the token was logged";
    stack_.aggregator().mark();  // reads what it has said
    EXPECT_EQ(stack_.aggregator().err().find(token), std::string::npos) << "the token was logged";
  }

  std::string status_of(std::string_view path, const std::string& token) const {
    std::vector<std::string> command{
        "curl", "--silent",     "--noproxy",     "*", "--max-time", "20", "-o", "/dev/null",
        "-w",   "%{http_code}", stack_.url(path)};
    if (!token.empty()) {
      command.insert(command.end(), {"--header", "Authorization: Bearer " + token});
    }
    return run(command).out;
  }

  std::unique_ptr<Deployment> deployment_;
  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
};

TEST_F(Identity, AnAgentIsTakenForTheNodeOfItsPod) {
  start_aggregator(kAggregatorAccount);

  const Outcome outcome = report(kNode1, deployment_->token(kAgentAccount, kAudience, "agent-1"));

  EXPECT_EQ(outcome.code, 0) << outcome.err << stack_.aggregator().err();
  EXPECT_FALSE(stack_.node(kNode1).is_null());
}

TEST_F(Identity, AnAgentIsNotTakenForAnotherNode) {
  start_aggregator(kAggregatorAccount);
  const std::string token = deployment_->token(kAgentAccount, kAudience, "agent-1");

  expect_refused(kNode2, token, "names gpu-node-1, the agent says it is node gpu-node-2");

  EXPECT_TRUE(stack_.node(kNode2).is_null());
  EXPECT_TRUE(stack_.node(kNode1).is_null());
}

TEST_F(Identity, TokensThatAreNotAnAgentsAreRefused) {
  start_aggregator(kAggregatorAccount);
  deployment_->put_pod("other-1", kAggregatorAccount, kNode1);

  expect_refused(kNode1, deployment_->token(kAgentAccount, "", "agent-1"), "token");
  expect_refused(kNode1, deployment_->token(kAgentAccount, "another-audience", "agent-1"), "token");
  expect_refused(kNode1, deployment_->token(kAggregatorAccount, kAudience, "other-1"),
                 "agents run as the service account gpuskew/gpuskew-agent");
  expect_refused(kNode1, deployment_->token(kAgentAccount, kAudience), "not bound to a pod");
  expect_refused(kNode1, "a-word-that-no-server-has-issued", "the API server does not know the token");
  EXPECT_TRUE(stack_.node(kNode1).is_null());
}

TEST_F(Identity, ATokenEndsWithItsPod) {
  start_aggregator(kAggregatorAccount);
  const std::string token = deployment_->token(kAgentAccount, kAudience, "agent-1");
  deployment_->delete_pod("agent-1");

  // The API server itself remembers for ten seconds whom it has let in: nobody was, with this token.
  expect_refused(kNode1, token, "token");
  deployment_->put_pod("agent-1", kAgentAccount, kNode2);
  expect_refused(kNode1, token, "token");
  expect_refused(kNode2, token, "token");
}

TEST_F(Identity, AgentsOutsideOfTheClusterShowTheirCertificates) {
  start_aggregator(kAggregatorAccount);

  stack_.report_once("metal-node-1", tree_);

  EXPECT_FALSE(stack_.node("metal-node-1").is_null());
}

TEST_F(Identity, NobodyIsTakenWhileTheApiServerIsAwayAndAllAreAfterwards) {
  start_aggregator(kAggregatorAccount);
  const std::string token = deployment_->token(kAgentAccount, kAudience, "agent-1");
  cluster().stop_api_server();

  expect_refused(kNode1, token, "the token could not be checked");
  cluster().start_api_server();

  const Outcome outcome = report(kNode1, token);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Identity, AnAggregatorWithoutTheRightToAskTakesNobody) {
  start_aggregator(kAgentAccount);

  expect_refused(kNode1, deployment_->token(kAgentAccount, kAudience, "agent-1"), "the token could not be checked");
}

TEST_F(Identity, TheApiIsForReaders) {
  cluster().put({{"apiVersion", "v1"},
                 {"kind", "ServiceAccount"},
                 {"metadata", {{"name", "reader"}, {"namespace", kDeployedNamespace}}}});
  start_aggregator(kAggregatorAccount, "  api_tokens: true\n");
  const std::string reader = deployment_->token("reader");

  EXPECT_EQ(status_of("/api/v1/nodes", ""), "401");
  EXPECT_EQ(status_of("/api/v1/nodes", "a-word-that-no-server-has-issued"), "401");
  EXPECT_EQ(status_of("/api/v1/nodes", reader), "403");
  EXPECT_EQ(status_of("/metrics", reader), "403");
  EXPECT_EQ(status_of("/healthz", ""), "200");

  cluster().kubectl({"create", "clusterrolebinding", "gpuskew-test-reader", "--clusterrole=gpuskew-reader",
                     "--serviceaccount=gpuskew:reader"});
  cluster().kubectl({"label", "clusterrolebinding", "gpuskew-test-reader", "app.kubernetes.io/part-of=gpuskew"});

  eventually(
      "the reader may read", [&] { return status_of("/api/v1/nodes", reader) == "200"; }, kClusterPatience);
  EXPECT_EQ(status_of("/metrics", reader), "200");
  EXPECT_EQ(status_of("/api/v1/nodes", deployment_->token("reader", kAudience)), "200");
  EXPECT_EQ(status_of("/api/v1/nodes", deployment_->token(kAgentAccount, kAudience, "agent-1")), "403");
  const std::filesystem::path file = stack_.directory() / "reader-token";
  write_file(file, reader);
  const Outcome asked = stack_.gpuskew({"--token-file", file.string(), "nodes"});
  EXPECT_NE(asked.code, 2) << asked.err;
}

TEST_F(Identity, TheConfigurationsThatAreShippedAreGood) {
  // As in the pods, but for the places of files, and for the service account that this machine does not have.
  CertificateSpec spec;
  spec.common_name = "gpuskew-agents.gpuskew.svc";
  const TlsFiles files = stack_.authority().issue("shipped", spec);
  const std::filesystem::path place = stack_.directory();
  write_file(place / "token", deployment_->token(kAgentAccount, kAudience, "agent-1"));
  const auto put = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  };
  const std::filesystem::path base = deployment_->directory() / "base";

  std::string agent = put(read_file(base / "agent.yaml"), "/host\n", tree_.path().string() + "\n");
  agent = put(agent, "/var/lib/gpuskew-agent", place.string());
  agent = put(agent, "/etc/gpuskew/ca/ca.crt", files.ca.string());
  agent = put(agent, "/var/run/secrets/gpuskew/token", (place / "token").string());
  write_file(place / "agent.yaml", agent);
  std::string aggregator = read_file(base / "aggregator.yaml");
  for (int uses = 0; uses < 2; ++uses) {
    aggregator = put(aggregator, "/etc/gpuskew/tls/tls.crt", files.certificate.string());
    aggregator = put(aggregator, "/etc/gpuskew/tls/tls.key", files.key.string());
  }
  aggregator = put(aggregator, "/etc/gpuskew/ca/ca.crt", files.ca.string());
  aggregator = put(aggregator, "/var/lib/gpuskew", place.string());
  aggregator += "  kubeconfig: " + deployment_->kubeconfig(deployment_->token(kAggregatorAccount)).string() + "\n";
  write_file(place / "shipped.yaml", aggregator);

  const Outcome agents =
      run({program("gpuskew-agent"), "--config", place / "agent.yaml", "--check-config"}, {{"NODE_NAME", kNode1}});
  const Outcome aggregators =
      run({program("gpuskew-aggregator"), "--config", place / "shipped.yaml", "--check-config"});

  EXPECT_EQ(agents.code, 0) << agents.err;
  EXPECT_EQ(aggregators.code, 0) << aggregators.err;
}

}  // namespace
}  // namespace gpuskew
