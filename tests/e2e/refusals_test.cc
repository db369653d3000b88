// What the aggregator does with peers that are not who they say, or do not speak as they should.

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/raw_client.h"
#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

class Refusals : public testing::Test {
 protected:
  void SetUp() override { stack_.start_aggregator(); }

  // The peer's address begins so in the log, whatever its port.
  std::string awaited_refusal() { return stack_.aggregator().wait_for_line("refused", mark_); }
  void expect_still_serving() {
    stack_.report_once("other-node", tree_);
    EXPECT_FALSE(stack_.node("other-node").is_null());
  }

  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
  std::size_t mark_ = 0;
};

long resident_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      return std::stol(line.substr(line.find_first_of("0123456789")));
    }
  }
  return -1;
}

TEST_F(Refusals, ACertificateOfOneNodeCanNotReportAnother) {
  const TlsFiles files = stack_.agent_files("node-a");
  Process agent = Process::start(stack_.agent_command("node-b", tree_, files));
  const std::string line = stack_.aggregator().wait_for_line("refused agent");
  EXPECT_NE(line.find("node-b"), std::string::npos) << line;
  EXPECT_NE(field_of(line, "certificate").find("node-a"), std::string::npos) << line;
  EXPECT_FALSE(field_of(line, "reason").empty()) << line;
  EXPECT_TRUE(field_of(line, "peer").starts_with("127.0.0.1")) << line;
  EXPECT_TRUE(stack_.node("node-b").is_null());
  EXPECT_TRUE(stack_.node("node-a").is_null());
  agent.wait_for_line("node-b");
  EXPECT_TRUE(agent.is_running()) << "it tries again: the certificate may be put right";
}

TEST_F(Refusals, OnceEndsWithTwoWhenItIsRefused) {
  const TlsFiles files = stack_.agent_files("node-a");
  const Outcome outcome = run(stack_.agent_command("node-b", tree_, files, {"--once"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("node-b"), std::string::npos) << outcome.err;
}

TEST_F(Refusals, ACommonNameIsEnoughWhereTheCertificateHasNoDnsName) {
  CertificateSpec spec;
  spec.common_name = "Node-C";
  const TlsFiles files = stack_.authority().issue("common-name", spec);
  const Outcome outcome = run(stack_.agent_command("node-c", tree_, files, {"--once"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(stack_.node("node-c").is_null());
}

TEST_F(Refusals, ACommonNameCountsForNothingBesideADnsName) {
  CertificateSpec spec;
  spec.common_name = "node-c";
  spec.dns_names = {"node-a"};
  const TlsFiles files = stack_.authority().issue("both-names", spec);
  const Outcome outcome = run(stack_.agent_command("node-c", tree_, files, {"--once"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(stack_.node("node-c").is_null());
}

TEST_F(Refusals, ACertificateOfAnotherAuthorityIsRefusedAndLogged) {
  const TemporaryDirectory elsewhere;
  const CertificateAuthority stranger(elsewhere.path(), "stranger");
  CertificateSpec spec;
  spec.common_name = "node-a";
  spec.dns_names = {"node-a"};
  TlsFiles files = stranger.issue("node-a", spec);
  files.ca = stack_.authority().ca_file();
  const Outcome outcome = run(stack_.agent_command("node-a", tree_, files, {"--once"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(awaited_refusal().find("127.0.0.1"), std::string::npos);
  EXPECT_TRUE(stack_.node("node-a").is_null());
}

TEST_F(Refusals, AnExpiredCertificateIsRefusedAndLogged) {
  CertificateSpec spec;
  spec.common_name = "node-a";
  spec.dns_names = {"node-a"};
  spec.valid_from = std::chrono::hours(-48);
  spec.valid_until = std::chrono::hours(-24);
  const Exchange exchange =
      exchange_tls(stack_.stream_address(), stack_.authority().issue("expired", spec), false, "hello", kPatience);
  EXPECT_TRUE(exchange.closed);
  EXPECT_NE(awaited_refusal().find("127.0.0.1"), std::string::npos);
}

TEST_F(Refusals, PlainTextIsRefusedAndLogged) {
  const Exchange exchange = exchange_plain(stack_.stream_address(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n", kPatience);
  EXPECT_TRUE(exchange.closed);
  EXPECT_NE(awaited_refusal().find("127.0.0.1"), std::string::npos);
  expect_still_serving();
}

TEST_F(Refusals, Tls12IsRefusedAndLogged) {
  const Exchange exchange =
      exchange_tls(stack_.stream_address(), stack_.agent_files("node-a"), true, "hello", kPatience);
  EXPECT_FALSE(exchange.handshake);
  EXPECT_NE(awaited_refusal().find("127.0.0.1"), std::string::npos);
  expect_still_serving();
}

TEST_F(Refusals, NoCertificateIsRefusedAndLogged) {
  const Exchange exchange = exchange_tls(stack_.stream_address(), TlsFiles{}, false, "hello", kPatience);
  EXPECT_TRUE(exchange.closed);
  EXPECT_NE(awaited_refusal().find("127.0.0.1"), std::string::npos);
}

TEST_F(Refusals, AnAnnouncementOfOneGibibyteCostsNothing) {
  const long before = resident_kib(stack_.aggregator().pid());
  const std::string announcement("\x40\x00\x00\x00", 4);
  for (int i = 0; i < 8; ++i) {
    const Exchange exchange =
        exchange_tls(stack_.stream_address(), stack_.agent_files("node-a"), false, announcement, kPatience);
    EXPECT_TRUE(exchange.handshake);
    EXPECT_TRUE(exchange.closed);
  }
  EXPECT_NE(awaited_refusal().find("127.0.0.1"), std::string::npos);
  constexpr long kSlackKib = 32 * 1024;
  EXPECT_LT(resident_kib(stack_.aggregator().pid()) - before, kSlackKib);
  expect_still_serving();
}

}  // namespace
}  // namespace gpuskew
