#include "runtime/http_client.h"

#include <gtest/gtest.h>

#include "runtime/http_server.h"
#include "runtime/log.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/event_loop.h"
#include "tests/unit/runtime/kube/scripted_server.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

using Connection = std::unique_ptr<HttpConnection>;

asio::awaitable<Result<std::string>> ask(HttpConnection* connection, std::string path) {
  const Result<void> sent = co_await connection->send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n", soon());
  if (!sent) {
    co_return tl::unexpected(sent.error());
  }
  const Result<const HttpReplyHead*> head = co_await connection->read_head(soon());
  if (!head) {
    co_return tl::unexpected(head.error());
  }
  std::string body = std::to_string((*head)->status) + " ";
  for (;;) {
    const Result<std::string> piece = co_await connection->read_body(soon());
    if (!piece) {
      co_return tl::unexpected(piece.error());
    }
    if (piece->empty()) {
      co_return body;
    }
    EXPECT_LE(piece->size(), kHttpReadBytes);
    body += *piece;
  }
}

class HttpClientTest : public testing::Test {
 protected:
  void serve(std::optional<TlsFiles> tls) {
    HttpServerOptions options;
    options.endpoint = asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0);
    options.tls = std::move(tls);
    auto server = HttpServer::start(io_, log_, options, [](const HttpRequest& request) {
      HttpResponse response;
      response.body = request.path == "/big" ? std::string(1'000'000, 'b') : request.path;
      return response;
    });
    server_ = std::move(*server);
    spawn(io_, server_->run());
  }
  Result<Connection> connect(const TlsClientOptions* tls, const std::string& name) {
    HttpTarget target;
    target.address = HostPort{"127.0.0.1", server_->endpoint().port()};
    target.server_name = name;
    std::shared_ptr<const TlsContext> context;
    if (tls != nullptr) {
      context = std::make_shared<const TlsContext>(std::move(TlsContext::client(*tls).value()));
    }
    return run_to_end(io_, HttpConnection::connect(target, context, soon()));
  }
  ~HttpClientTest() override {
    if (server_) {
      server_->stop();
      run_until(io_, [this] { return server_->open_connections() == 0; });
    }
  }
  /// For a server with this certificate; what its handshake says.
  std::string handshake(const CertificateSpec& spec, const TlsClientOptions& options, const std::string& name) {
    serve(authority_.issue("server", spec));
    auto connection = connect(&options, name);
    return connection ? "good" : connection.error().what;
  }
  TlsClientOptions trusting() const {
    TlsClientOptions options;
    options.ca.file = authority_.ca_file();
    options.allow_tls12 = true;
    return options;
  }
  static CertificateSpec spec_of(std::vector<std::string> names, std::vector<std::string> addresses) {
    CertificateSpec spec;
    spec.common_name = "server";
    spec.dns_names = std::move(names);
    spec.ip_addresses = std::move(addresses);
    return spec;
  }

  asio::io_context io_;
  Log log_{-1};
  TemporaryDirectory directory_;
  CertificateAuthority authority_{directory_.path(), "ca"};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpClientTest, AsksOneThingAfterAnotherOverPlainHttp) {
  serve(std::nullopt);
  auto connection = connect(nullptr, "");
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_TRUE((*connection)->is_reusable());
  EXPECT_EQ(run_to_end(io_, ask(connection->get(), "/a")).value(), "200 /a");
  EXPECT_TRUE((*connection)->is_reusable());
  EXPECT_EQ(run_to_end(io_, ask(connection->get(), "/big")).value().size(), 1'000'004U);
  EXPECT_TRUE((*connection)->is_reusable());
}

TEST_F(HttpClientTest, KnowsThatTheServerHasClosed) {
  serve(std::nullopt);
  auto connection = connect(nullptr, "");
  ASSERT_TRUE(run_to_end(io_, ask(connection->get(), "/a")));
  server_->stop();
  run_until(io_, [&] { return !(*connection)->is_reusable(); });
}

TEST_F(HttpClientTest, ChecksTheServersName) {
  EXPECT_EQ(handshake(spec_of({"api.example"}, {}), trusting(), "api.example"), "good");
}
TEST_F(HttpClientTest, RefusesACertificateForAnotherName) {
  EXPECT_EQ(handshake(spec_of({"api.example"}, {}), trusting(), "other.example"),
            "the peer's certificate is for another name");
}
TEST_F(HttpClientTest, ChecksAnAddressAgainstTheCertificatesAddresses) {
  EXPECT_EQ(handshake(spec_of({"api.example"}, {"127.0.0.1"}), trusting(), "127.0.0.1"), "good");
}
TEST_F(HttpClientTest, RefusesACertificateWithoutTheAddress) {
  EXPECT_EQ(handshake(spec_of({"127.0.0.1"}, {"127.0.0.2"}), trusting(), "127.0.0.1"),
            "the peer's certificate is for another name");
}
TEST_F(HttpClientTest, RefusesAnUnknownAuthorityOfTheSystems) {
  TlsClientOptions options;
  options.system_ca = true;
  EXPECT_EQ(handshake(spec_of({"api.example"}, {}), options, "api.example"),
            "the peer's certificate is from an unknown CA");
}
TEST_F(HttpClientTest, BelievesAnybodyWhenItIsToldTo) {
  TlsClientOptions options;
  options.verify = false;
  EXPECT_EQ(handshake(spec_of({"api.example"}, {}), options, "other.example"), "good");
}
TEST_F(HttpClientTest, TellsAPlainServerFromATlsOne) {
  serve(std::nullopt);
  const TlsClientOptions options = trusting();
  EXPECT_EQ(connect(&options, "api.example").error().code, ErrorCode::Malformed);
}

TEST_F(HttpClientTest, GoesThroughAProxy) {
  asio::io_context io;
  const ScriptedServer proxy(
      io, {{"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n", http_reply("200 OK", "through")},
           {http_reply("403 Forbidden", "no")}});
  HttpTarget target;
  target.address = HostPort{"api.inside", 6443};
  target.proxy = HostPort{"127.0.0.1", parse_host_port(proxy.url().substr(7))->port};
  target.proxy_authorization = "Basic eDp5";
  auto connection = run_to_end(io, HttpConnection::connect(target, nullptr, soon()));
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(run_to_end(io, ask(connection->get(), "/a")).value(), "200 through");
  EXPECT_EQ(proxy.requests().front(),
            "CONNECT api.inside:6443 HTTP/1.1\r\nHost: api.inside:6443\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
  const auto refused = run_to_end(io, HttpConnection::connect(target, nullptr, soon()));
  EXPECT_NE(refused.error().what.find("it answers CONNECT with 403"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace gpuskew
