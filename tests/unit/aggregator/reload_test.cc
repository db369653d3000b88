#include "aggregator/reload.h"

#include <memory>

#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "runtime/http_server.h"
#include "runtime/systemd.h"
#include "runtime/tls.h"
#include "tests/support/certificates.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

class ReloadTest : public testing::Test {
 protected:
  ReloadTest() {
    line.config_file = directory().path() / "aggregator.yaml";
    directory().write("token", kToken);
    configure("", token_line());
    config = load_config(line).value();
    HttpServerOptions options;
    options.endpoint = {asio::ip::address_v4::loopback(), 0};
    server =
        HttpServer::start(io, rig.captured.log(), options, [](const HttpRequest&) { return HttpResponse{}; }).value();
  }

  const TempDir& directory() const { return rig.directory; }
  std::string token_line() const { return "token_file: " + (directory().path() / "token").string(); }

  void configure(const std::string& rest, const std::string& api = "") {
    const auto text = [](const std::filesystem::path& path) { return path.string(); };
    directory().write("aggregator.yaml", "agents: {listen: \"127.0.0.1:0\", certificate: " + text(files.certificate) +
                                             ", key: " + text(files.key) + ", client_ca: " + text(files.ca) +
                                             "}\napi: {" + api + "}\n" + rest);
  }

  void reload() {
    Reload(line, config, rig.captured.log(), tls, *server, auth, rig.recorder, matrix, housekeeping).now(kNow);
  }

  bool asks_for_token() const {
    HttpRequest request;
    request.path = "/api/v1/nodes";
    return auth.refuse(request).has_value();
  }

  Rig rig;
  CertificateAuthority authority{rig.directory.path(), "test"};
  TlsFiles files = authority.issue("aggregator", CertificateSpec{"aggregator", {}, {}});
  TlsContext tls = TlsContext::server(files).value();
  asio::io_context io{1};
  AggregatorCommandLine line;
  Config config;
  MatrixFile matrix{std::nullopt};
  ApiAuth auth{kToken};
  ServiceManager manager = ServiceManager::from_environment().value();
  Housekeeping housekeeping{rig.recorder,          rig.store, rig.writer, matrix, manager, rig.captured.log(),
                            std::chrono::hours(24)};
  std::unique_ptr<HttpServer> server;
};

TEST_F(ReloadTest, TakesRulesMatrixAndLogLevel) {
  rig.report(healthy_snapshot("gpu-1"));
  const std::filesystem::path csv =
      directory().write("m.csv", "driver_branch,kernel,os_tag\n550.90.07,5.15.0-119-generic,ubuntu22.04\n");
  configure("matrix: {file: " + csv.string() + "}\ntag: {driver_part: version}\nlog: {level: info}\n", token_line());
  reload();
  EXPECT_EQ(rig.fleet.policy().tag.driver_part, DriverPart::Version);
  ASSERT_NE(rig.fleet.matrix(), nullptr);
  EXPECT_EQ(rig.fleet.find("gpu-1")->verdict.state, NodeState::Ok);
  EXPECT_EQ(rig.captured.log().level(), LogLevel::Info);
  EXPECT_EQ(rig.captured.count("configuration reloaded"), 1u);
}

TEST_F(ReloadTest, ABrokenConfigurationChangesNothing) {
  configure("tag: {driver_part: version}\nlgo: {level: info}\n");
  reload();
  EXPECT_EQ(rig.fleet.policy().tag.driver_part, DriverPart::Branch);
  EXPECT_TRUE(asks_for_token());
  EXPECT_EQ(rig.captured.count("can not be reloaded"), 1u);
  EXPECT_EQ(rig.captured.count("lgo"), 1u) << rig.captured.text();
}

TEST_F(ReloadTest, TakesANewTokenAndKeepsTheOldWhenTheNewIsBroken) {
  directory().write("token", "fedcba9876543210");
  configure("", token_line());
  reload();
  HttpRequest request;
  request.path = "/api/v1/nodes";
  request.headers = {{"Authorization", "Bearer fedcba9876543210"}};
  EXPECT_FALSE(auth.refuse(request));
  directory().write("token", "short");
  reload();
  EXPECT_FALSE(auth.refuse(request));
  EXPECT_EQ(rig.captured.count("API token can not be reloaded"), 1u);
}

TEST_F(ReloadTest, SaysWhatOnlyARestartChanges) {
  configure("history: {path: /elsewhere.db}\n", token_line());
  reload();
  EXPECT_EQ(rig.captured.count("needs a restart"), 1u);
  EXPECT_EQ(rig.captured.count("key=history.path"), 1u);
}

TEST_F(ReloadTest, DoesNotDropTheTokenOfAnApiThatStillListensOnANetwork) {
  config.api.listen = "192.0.2.1:7480";
  config.api.tls = files;
  config.api.tls->ca.clear();
  configure("", "listen: \"127.0.0.1:7480\"");
  reload();
  EXPECT_TRUE(asks_for_token());
  EXPECT_EQ(rig.captured.count("anyone could read the API"), 1u) << rig.captured.text();
}

TEST_F(ReloadTest, BrokenCertificatesLeaveTheOldOnes) {
  std::filesystem::remove(files.certificate);
  configure("", token_line());
  reload();
  EXPECT_EQ(rig.captured.count("agents' certificates can not be reloaded"), 1u);
  EXPECT_EQ(rig.captured.count("configuration reloaded"), 1u);
}

}  // namespace
}  // namespace gpuskew
