#include "aggregator/config.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

constexpr const char* kAgents = "agents: {certificate: /c.pem, key: /c.key, client_ca: /ca.pem}\n";

std::string error_of(std::string_view text) {
  Result<Config> config = parse_config("aggregator.yaml", text);
  return config ? "no error" : config.error().what;
}

TEST(Config, TakesDefaultsForAllThatIsNotSaid) {
  Result<Config> config = parse_config("aggregator.yaml", kAgents);
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->agents.listen, "0.0.0.0:7481");
  EXPECT_EQ(config->agents.max_connections, 60'000u);
  EXPECT_EQ(config->api.listen, "127.0.0.1:7480");
  EXPECT_FALSE(config->api.tls);
  EXPECT_FALSE(config->api.token_file);
  EXPECT_EQ(config->history.retention, std::chrono::hours(24 * 90));
  EXPECT_FALSE(config->matrix_file);
  EXPECT_EQ(config->judge, JudgePolicy{});
  EXPECT_EQ(config->log_level, LogLevel::Info);
}

TEST(Config, ReadsEveryKey) {
  Result<Config> config = parse_config("aggregator.yaml", R"(
agents: {listen: "127.0.0.1:0", certificate: /a.pem, key: /a.key, client_ca: /ca.pem, max_connections: 5}
api: {listen: "[::1]:1", certificate: /b.pem, key: /b.key, client_ca: /d.pem, token_file: /t, allow_anonymous: true}
history: {path: /h.db, retention: 7d}
matrix: {file: /m.csv}
tag: {driver_part: version, operator_version: "26.3.1"}
judge: {boot_grace: 1m, container_grace: 2m, silent_after: 3s, wedged_after: 4s}
log: {level: debug}
)");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->agents.tls, (TlsFiles{"/ca.pem", "/a.pem", "/a.key"}));
  EXPECT_EQ(config->agents.max_connections, 5u);
  EXPECT_EQ(config->api.tls, (TlsFiles{"/d.pem", "/b.pem", "/b.key"}));
  EXPECT_EQ(config->api.token_file, "/t");
  EXPECT_TRUE(config->api.allow_anonymous);
  EXPECT_EQ(config->history.path, "/h.db");
  EXPECT_EQ(config->history.retention, std::chrono::hours(24 * 7));
  EXPECT_EQ(config->matrix_file, "/m.csv");
  EXPECT_EQ(config->judge.tag.driver_part, DriverPart::Version);
  EXPECT_EQ(config->judge.tag.operator_version->text(), "26.3.1");
  EXPECT_EQ(config->judge.boot_grace, std::chrono::minutes(1));
  EXPECT_EQ(config->judge.container_grace, std::chrono::minutes(2));
  EXPECT_EQ(config->judge.silent_after, std::chrono::seconds(3));
  EXPECT_EQ(config->judge.wedged_after, std::chrono::seconds(4));
  EXPECT_EQ(config->log_level, LogLevel::Debug);
}

TEST(Config, NamesFileLineAndKeyOfAnUnknownKey) {
  const std::string error = error_of(std::string(kAgents) + "history:\n  pth: /h.db\n");
  EXPECT_NE(error.find("aggregator.yaml:3"), std::string::npos) << error;
  EXPECT_NE(error.find("history.pth"), std::string::npos) << error;
}

TEST(Config, DemandsTheAgentsCertificates) {
  const std::string error = error_of("api: {listen: \"127.0.0.1:0\"}\n");
  EXPECT_NE(error.find("agents"), std::string::npos) << error;
  EXPECT_NE(error.find("required"), std::string::npos) << error;
}

TEST(Config, RefusesAnApiKeyWithoutItsCertificate) {
  EXPECT_NE(error_of(std::string(kAgents) + "api: {key: /k}\n").find("go together"), std::string::npos);
}

TEST(Config, RefusesAnApiClientCaWithoutTls) {
  EXPECT_NE(error_of(std::string(kAgents) + "api: {client_ca: /k}\n").find("needs certificate and key"),
            std::string::npos);
}

TEST(Config, RefusesValuesOutOfRange) {
  EXPECT_NE(error_of(std::string(kAgents) + "judge: {silent_after: 0s}\n").find("judge.silent_after"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kAgents) + "history: {retention: 1s}\n").find("history.retention"), std::string::npos);
  EXPECT_NE(error_of(std::string(kAgents) + "tag: {operator_version: latest}\n").find("tag.operator_version"),
            std::string::npos);
}

TEST(Config, ActsOnNothingUnlessTold) {
  Result<Config> config = parse_config("aggregator.yaml", std::string(kAgents) + "kubernetes: {enabled: true}\n");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->kubernetes.acting, ActingPolicy{});
  EXPECT_FALSE(config->kubernetes.acting_dry_run);
}

TEST(Config, RefusesToActOnAClusterItIsNotOf) {
  EXPECT_NE(error_of(std::string(kAgents) + "kubernetes: {acting: {taint: true}}\n").find("kubernetes.enabled: true"),
            std::string::npos);
}

TEST(Config, NamesAFileThatIsNotThere) {
  TempDir directory;
  Result<Config> config = load_config(directory.path() / "none.yaml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::NotFound);
  EXPECT_NE(config.error().what.find("none.yaml"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
