// The client over TLS: what it says when server and client do not trust each other.

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/api_client.h"
#include "tests/support/certificates.h"
#include "tests/unit/cli/http_imposter.h"

namespace gpuskew {
namespace {

class TlsTest : public testing::Test {
 protected:
  TlsTest() : directory_(make_directory()), authority_(directory_, "fleet"), stranger_(directory_, "stranger") {}
  ~TlsTest() override { std::filesystem::remove_all(directory_); }

  static std::filesystem::path make_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "gpuskew-cli-tls-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    return name;
  }

  TlsFiles server_files(std::vector<std::string> addresses = {"127.0.0.1"}) const {
    CertificateSpec spec;
    spec.common_name = "aggregator";
    spec.ip_addresses = std::move(addresses);
    return authority_.issue("server", spec);
  }

  TlsFiles client_files() const {
    CertificateSpec spec;
    spec.common_name = "oncall";
    return authority_.issue("client", spec);
  }

  /// Asks /x, which says {}.
  static Result<nlohmann::ordered_json> ask(HttpImposter& server, const ServerOptions& options) {
    server.answer("/x", "{}");
    ServerOptions to = options;
    to.url = server.url();
    Result<ApiClient> client = ApiClient::open(to);
    if (!client) {
      return tl::unexpected(client.error());
    }
    return client->get("/x");
  }

  std::filesystem::path directory_;
  CertificateAuthority authority_;
  CertificateAuthority stranger_;
};

TEST_F(TlsTest, TrustsTheNamedAuthority) {
  const TlsFiles files = server_files();
  HttpImposter server(files.certificate, files.key);
  ServerOptions options;
  options.ca = authority_.ca_file();
  const auto reply = ask(server, options);
  EXPECT_TRUE(reply) << reply.error().what;
}

TEST_F(TlsTest, SaysToNameAnAuthorityItDoesNotKnow) {
  const TlsFiles files = server_files();
  HttpImposter server(files.certificate, files.key);
  const auto reply = ask(server, {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Denied);
  EXPECT_NE(reply.error().what.find("--ca"), std::string::npos) << reply.error().what;
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(TlsTest, DoubtsAnAuthorityThatDidNotSign) {
  const TlsFiles files = server_files();
  HttpImposter server(files.certificate, files.key);
  ServerOptions options;
  options.ca = stranger_.ca_file();
  const auto reply = ask(server, options);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().what.find("right file"), std::string::npos) << reply.error().what;
}

TEST_F(TlsTest, RefusesACertificateForAnotherName) {
  const TlsFiles files = server_files({"192.0.2.1"});
  HttpImposter server(files.certificate, files.key);
  ServerOptions options;
  options.ca = authority_.ca_file();
  const auto reply = ask(server, options);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().what.find("another name"), std::string::npos) << reply.error().what;
}

TEST_F(TlsTest, ShowsItsOwnCertificate) {
  const TlsFiles files = server_files();
  const TlsFiles own = client_files();
  HttpImposter server(files.certificate, files.key, authority_.ca_file());
  ServerOptions options;
  options.ca = authority_.ca_file();
  options.certificate = own.certificate;
  options.key = own.key;
  const auto reply = ask(server, options);
  EXPECT_TRUE(reply) << reply.error().what;
}

TEST_F(TlsTest, SaysToShowACertificateWhereOneIsWanted) {
  const TlsFiles files = server_files();
  HttpImposter server(files.certificate, files.key, authority_.ca_file());
  ServerOptions options;
  options.ca = authority_.ca_file();
  const auto reply = ask(server, options);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().what.find("--cert and --key"), std::string::npos) << reply.error().what;
}

TEST_F(TlsTest, SaysToUseHttpWhereTheServerSpeaksNoTls) {
  HttpImposter server;
  ServerOptions options;
  options.url = "https://127.0.0.1:" + server.port();
  server.answer("/x", "{}");
  Result<ApiClient> client = ApiClient::open(options);
  ASSERT_TRUE(client);
  const auto reply = client->get("/x");
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().what.find("http://"), std::string::npos) << reply.error().what;
}

TEST_F(TlsTest, NamesAKeyOfAnotherCertificate) {
  const TlsFiles files = server_files();
  const TlsFiles own = client_files();
  HttpImposter server(files.certificate, files.key);
  ServerOptions options;
  options.ca = authority_.ca_file();
  options.certificate = own.certificate;
  options.key = files.key;
  const auto reply = ask(server, options);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().what.find("--cert and --key"), std::string::npos) << reply.error().what;
}

}  // namespace
}  // namespace gpuskew
