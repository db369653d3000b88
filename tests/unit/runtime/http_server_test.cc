#include "runtime/http_server.h"

#include <array>
#include <fstream>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>

#include "runtime/log.h"
#include "runtime/tls_stream.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/event_loop.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

HttpResponse answer(const HttpRequest& request) {
  HttpResponse response;
  if (request.path == "/throw") {
    throw std::runtime_error("a bug");
  }
  if (request.path == "/big") {
    response.body = std::string(std::size_t{4} << 20, 'b');
    return response;
  }
  response.status = request.method == "GET" ? 200 : 405;
  response.body = request.method + " " + request.path;
  return response;
}

/// Sends and reads until the server closes.
asio::awaitable<Result<std::string>> ask_plain(tcp::socket& socket, std::string request) {
  asio::error_code error;
  co_await asio::async_write(socket, asio::buffer(request), asio::redirect_error(asio::use_awaitable, error));
  std::string reply;
  std::array<char, 4096> buffer{};
  while (!error) {
    const std::size_t got =
        co_await socket.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
    reply.append(buffer.data(), got);
  }
  if (error != asio::error::eof) {
    co_return fail(ErrorCode::Unreachable, error.message());
  }
  co_return reply;
}

asio::awaitable<Result<std::string>> ask_tls(TlsStream& stream, std::string request) {
  const Result<void> shaken = co_await stream.handshake(soon());
  if (!shaken) {
    co_return tl::unexpected(shaken.error());
  }
  const Result<void> sent = co_await stream.write_all(request, soon());
  if (!sent) {
    co_return tl::unexpected(sent.error());
  }
  std::string reply;
  std::array<char, 4096> buffer{};
  for (;;) {
    const Result<std::size_t> got = co_await stream.read_some(buffer, soon());
    if (!got) {
      co_return tl::unexpected(got.error());
    }
    if (*got == 0) {
      co_return reply;
    }
    reply.append(buffer.data(), *got);
  }
}

std::string body_of(const std::string& reply) {
  return reply.substr(reply.find("\r\n\r\n") + 4);
}
std::string status_of(const std::string& reply) {
  return reply.substr(0, 12);
}

class HttpServerTest : public testing::Test {
 protected:
  ~HttpServerTest() override {
    if (server_) {
      stop();
    }
  }

  void start(HttpServerOptions options = {}) {
    options.endpoint = tcp::endpoint(asio::ip::address_v4::loopback(), 0);
    auto server = HttpServer::start(io_, log_, std::move(options), answer);
    ASSERT_TRUE(server) << server.error().what;
    server_ = std::move(*server);
    spawn(io_, run_and_note(*server_));
  }
  asio::awaitable<void> run_and_note(HttpServer& server) {
    const Result<void> ran = co_await server.run();
    EXPECT_TRUE(ran);
    run_ended_ = true;
  }
  void stop() {
    server_->stop();
    run_until(io_, [this] { return run_ended_; });
    EXPECT_EQ(server_->open_connections(), 0U);
  }
  tcp::socket connect() {
    tcp::socket socket(io_);
    socket.connect(server_->endpoint());
    return socket;
  }
  std::string ask(const std::string& request) {
    tcp::socket socket = connect();
    return run_to_end(io_, ask_plain(socket, request)).value_or("an error");
  }
  std::string get(const std::string& path) { return ask("GET " + path + " HTTP/1.1\r\nConnection: close\r\n\r\n"); }
  Result<std::string> get_over_tls(const TlsFiles& files) {
    const auto context = TlsContext::client(files).value();
    TlsStream stream = TlsStream::client(connect(), context, "api.example").value();
    return run_to_end(io_, ask_tls(stream, "GET /tls HTTP/1.1\r\nConnection: close\r\n\r\n"));
  }
  TlsFiles issue(const std::string& name) {
    CertificateSpec spec;
    spec.dns_names = {name};
    return authority_.issue(name, spec);
  }

  asio::io_context io_{1};
  Log log_{-1};
  TemporaryDirectory directory_;
  CertificateAuthority authority_{directory_.path(), "ca"};
  std::unique_ptr<HttpServer> server_;
  bool run_ended_ = false;
};

TEST_F(HttpServerTest, AnswersAGetAndLeavesOtherMethodsToTheHandler) {
  start();
  const std::string reply = get("/api/v1/nodes");
  EXPECT_EQ(status_of(reply), "HTTP/1.1 200");
  EXPECT_EQ(body_of(reply), "GET /api/v1/nodes");
  EXPECT_EQ(status_of(ask("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab")), "HTTP/1.1 405");
}

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  start();
  const std::string replies =
      ask("GET /one HTTP/1.1\r\n\r\nGET /two HTTP/1.1\r\n\r\nGET /three HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(replies.find("GET /one"), std::string::npos);
  EXPECT_NE(replies.find("GET /two"), std::string::npos);
  EXPECT_NE(replies.find("GET /three"), std::string::npos);
}

TEST_F(HttpServerTest, SendsNoBodyForHeadButItsLength) {
  start();
  const std::string reply = ask("HEAD /xyz HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(reply.find("Content-Length: 8\r\n"), std::string::npos) << reply;
  EXPECT_EQ(body_of(reply), "");
}

TEST_F(HttpServerTest, SendsABodyOfMegabytes) {
  start();
  EXPECT_EQ(body_of(get("/big")).size(), std::size_t{4} << 20);
}

TEST_F(HttpServerTest, TurnsAnExceptionOfTheHandlerInto500) {
  start();
  EXPECT_EQ(status_of(get("/throw")), "HTTP/1.1 500");
  EXPECT_EQ(status_of(get("/")), "HTTP/1.1 200");
}

TEST_F(HttpServerTest, TellsAClientWithTooLongABodyBeforeItCloses) {
  start();
  const std::string request = "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + std::string(100'000, 'x');
  tcp::socket socket = connect();
  asio::error_code error;
  asio::write(socket, asio::buffer(request), error);
  socket.shutdown(tcp::socket::shutdown_send);
  const auto reply = run_to_end(io_, ask_plain(socket, ""));
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(status_of(*reply), "HTTP/1.1 413");
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  start();
  tcp::socket socket = connect();
  asio::write(socket, asio::buffer("\x16\x03\x01\x02\x01\x01", 6));
  socket.shutdown(tcp::socket::shutdown_send);
  EXPECT_EQ(status_of(run_to_end(io_, ask_plain(socket, "")).value()), "HTTP/1.1 400");
}

TEST_F(HttpServerTest, ClosesAClientThatIsSlowerThanTheReadTimeout) {
  HttpServerOptions options;
  options.read_timeout = std::chrono::milliseconds(30);
  start(options);
  tcp::socket socket = connect();
  EXPECT_EQ(run_to_end(io_, ask_plain(socket, "GET / HT")).value(), "");
}

TEST_F(HttpServerTest, ClosesClientsOverItsLimit) {
  HttpServerOptions options;
  options.max_connections = 1;
  start(options);
  tcp::socket first = connect();
  run_until(io_, [this] { return server_->open_connections() == 1; });
  tcp::socket second = connect();
  const auto refused = run_to_end(io_, ask_plain(second, ""));
  EXPECT_EQ(refused.value_or(""), "");
  first.close();
  run_until(io_, [this] { return server_->open_connections() == 0; });
  EXPECT_EQ(status_of(get("/")), "HTTP/1.1 200");
}

TEST_F(HttpServerTest, StopsWithClientsThatWait) {
  start();
  tcp::socket idle = connect();
  tcp::socket half = connect();
  asio::write(half, asio::buffer(std::string("GET / HT")));
  run_until(io_, [this] { return server_->open_connections() == 2; });
  stop();
  EXPECT_EQ(run_to_end(io_, ask_plain(idle, "")).value_or(""), "");
}

TEST_F(HttpServerTest, FinishesTheAnswerItIsSendingWhenItStops) {
  start();
  tcp::socket socket = connect();
  asio::write(socket, asio::buffer(std::string("GET /big HTTP/1.1\r\n\r\n")));
  std::array<char, 1> first{};
  socket.non_blocking(true);
  asio::error_code error = asio::error::would_block;
  run_until(io_, [&] {
    socket.read_some(asio::buffer(first), error);
    return !error;
  });
  server_->stop();
  const auto rest = run_to_end(io_, ask_plain(socket, ""));
  ASSERT_TRUE(rest) << rest.error().what;
  EXPECT_EQ(body_of(*rest).size(), std::size_t{4} << 20);
  stop();
}

TEST_F(HttpServerTest, ServesTlsAndRequiresTheClientsCertificateWhenACaIsGiven) {
  HttpServerOptions options;
  options.tls = issue("api.example");
  start(options);
  const auto reply = get_over_tls(issue("client"));
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(body_of(*reply), "GET /tls");
  EXPECT_EQ(get_over_tls(TlsFiles{authority_.ca_file(), {}, {}}).error().code, ErrorCode::Denied);
}

TEST_F(HttpServerTest, ServesTlsWithoutClientCertificates) {
  HttpServerOptions options;
  options.tls = issue("api.example");
  options.tls->ca.clear();
  start(options);
  EXPECT_TRUE(get_over_tls(TlsFiles{authority_.ca_file(), {}, {}}));
}

TEST_F(HttpServerTest, UsesReloadedCertificatesForNewConnectionsAndKeepsTheOldOnAnError) {
  HttpServerOptions options;
  options.tls = issue("api.example");
  options.tls->ca.clear();
  const TlsFiles files = *options.tls;
  start(options);
  const TlsFiles client{authority_.ca_file(), {}, {}};
  EXPECT_FALSE(server_->reload_tls(TlsFiles{{}, files.certificate, "/nonexistent"}));
  EXPECT_TRUE(get_over_tls(client));
  ASSERT_TRUE(
      server_->reload_tls(TlsFiles{{}, issue("other.example").certificate, directory_.path() / "other.example.key"}));
  EXPECT_EQ(get_over_tls(client).error().what, "the peer's certificate is for another name");
}

TEST_F(HttpServerTest, NamesWhatIsWrongWithTheCertificateOrTheAddress) {
  HttpServerOptions options;
  options.tls = TlsFiles{{}, "/nonexistent.pem", "/nonexistent.key"};
  options.endpoint = tcp::endpoint(asio::ip::address_v4::loopback(), 0);
  EXPECT_EQ(HttpServer::start(io_, log_, options, answer).error().what,
            "certificate: reading /nonexistent.pem: no such file or directory");
  start();
  EXPECT_FALSE(server_->reload_tls(*options.tls));
  EXPECT_TRUE(server_->reload_tls());
  options = HttpServerOptions();
  options.endpoint = server_->endpoint();
  EXPECT_NE(HttpServer::start(io_, log_, options, answer).error().what.find("address already in use"),
            std::string::npos);
}

asio::awaitable<std::optional<HttpResponse>> only_healthz(HttpRequest request) {
  if (request.path == "/throw") {
    throw std::runtime_error("a bug");
  }
  if (request.path == "/healthz") {
    co_return std::nullopt;
  }
  HttpResponse refusal;
  refusal.status = 401;
  refusal.body = "who are you";
  co_return refusal;
}

TEST_F(HttpServerTest, AGuardAnswersInsteadOfTheHandlerOrLetsItGoOn) {
  HttpServerOptions options;
  options.guard = only_healthz;
  start(options);
  const std::string refused = get("/api");
  EXPECT_EQ(status_of(refused), "HTTP/1.1 401");
  EXPECT_EQ(body_of(refused), "who are you");
  EXPECT_EQ(body_of(get("/healthz")), "GET /healthz");
}

TEST_F(HttpServerTest, AGuardThatFailsLetsNobodyIn) {
  HttpServerOptions options;
  options.guard = only_healthz;
  start(options);
  EXPECT_EQ(status_of(get("/throw")), "HTTP/1.1 500");
}

TEST_F(HttpServerTest, AGuardIsAskedForEachRequestOfAConnection) {
  HttpServerOptions options;
  options.guard = only_healthz;
  start(options);
  const std::string replies = ask("GET /healthz HTTP/1.1\r\n\r\nGET /api HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(replies.find("GET /healthz"), std::string::npos);
  EXPECT_NE(replies.find("who are you"), std::string::npos);
  EXPECT_EQ(replies.find("GET /api"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
