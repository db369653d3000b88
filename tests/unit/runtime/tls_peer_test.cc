#include "runtime/tls_peer.h"

#include <array>
#include <functional>
#include <optional>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "runtime/tls.h"
#include "runtime/tls_stream.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/connected_pair.h"
#include "tests/unit/runtime/event_loop.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

/// Both ends' first errors; in TLS 1.3 a refused client hears of it at its first read.
struct Failures {
  Result<void> server;
  Result<void> client;
};

asio::awaitable<Result<void>> greet(TlsStream& stream) {
  const Result<void> shaken = co_await stream.handshake(soon());
  if (!shaken) {
    co_return shaken;
  }
  co_return co_await stream.write_all("x", soon());
}

asio::awaitable<void> listen_to(TlsStream& stream, std::optional<Result<void>>& ended) {
  Result<void> result = co_await stream.handshake(soon());
  if (result) {
    std::array<char, 1> byte{};
    const Result<std::size_t> got = co_await stream.read_some(byte, soon());
    if (!got) {
      result = tl::unexpected(got.error());
    }
  }
  ended = result;
}

class TlsPeerTest : public testing::Test {
 protected:
  static CertificateSpec named(const std::string& dns_name) {
    CertificateSpec spec;
    spec.dns_names = {dns_name};
    return spec;
  }

  /// One connection between the two; the names each end saw are kept.
  Failures meet(const TlsFiles& server_files, const TlsFiles& client_files, const std::string& name = "server.example",
                const std::function<void(SSL_CTX*)>& change_client = {}) {
    const auto server_context = TlsContext::server(server_files);
    const auto client_context = TlsContext::client(client_files);
    EXPECT_TRUE(server_context && client_context);
    if (change_client) {
      change_client(client_context->native());
    }
    auto [server_socket, client_socket] = connected_pair(io_);
    TlsStream client = TlsStream::client(std::move(client_socket), *client_context, name).value();
    std::optional<Result<void>> client_ended;
    spawn(io_, listen_to(client, client_ended));
    Failures failures;
    {
      TlsStream server = TlsStream::server(std::move(server_socket), *server_context).value();
      failures.server = run_to_end(io_, greet(server));
      names_ = server.peer_names();
    }
    run_until(io_, [&] { return client_ended.has_value(); });
    failures.client = *client_ended;
    return failures;
  }

  std::vector<std::string> names_of(const CertificateSpec& spec) {
    const Failures failures = meet(server_, authority_.issue("client", spec));
    EXPECT_TRUE(failures.server) << failures.server.error().what;
    return names_;
  }

  asio::io_context io_{1};
  TemporaryDirectory directory_;
  CertificateAuthority authority_{directory_.path(), "ca"};
  CertificateAuthority stranger_{directory_.path(), "stranger"};
  TlsFiles server_ = authority_.issue("server", named("server.example"));
  TlsFiles client_ = authority_.issue("node-a", named("node-a"));
  std::vector<std::string> names_;
};

using Names = std::vector<std::string>;

TEST_F(TlsPeerTest, NamesAreTheDnsNamesOfTheCertificate) {
  CertificateSpec spec;
  spec.common_name = "ignored";
  spec.dns_names = {"node-a", "node-a.example"};
  EXPECT_EQ(names_of(spec), (Names{"node-a", "node-a.example"}));
}

TEST_F(TlsPeerTest, NameIsTheCommonNameWithoutADnsName) {
  CertificateSpec spec;
  spec.common_name = "node-a";
  EXPECT_EQ(names_of(spec), Names{"node-a"});
  spec.ip_addresses = {"192.0.2.1"};
  EXPECT_EQ(names_of(spec), Names{"node-a"});
}

TEST_F(TlsPeerTest, LeavesOutANameWithANulAndDoesNotFallBackToTheCommonName) {
  CertificateSpec spec;
  spec.common_name = "node-a";
  spec.dns_names = {std::string("node-a\0.evil", 12)};
  EXPECT_EQ(names_of(spec), Names{});
}

TEST_F(TlsPeerTest, RefusesAClientOfAnotherCa) {
  TlsFiles files = stranger_.issue("node-a-forged", named("node-a"));
  files.ca = authority_.ca_file();
  const Failures failures = meet(server_, files);
  ASSERT_FALSE(failures.server);
  EXPECT_EQ(failures.server.error(), (Error{ErrorCode::Denied, "the peer's certificate is from an unknown CA"}));
  EXPECT_EQ(failures.client.error(), (Error{ErrorCode::Denied, "the peer does not know the CA of our certificate"}));
}

TEST_F(TlsPeerTest, RefusesAClientWhoseCertificateCouldSignOthers) {
  CertificateSpec spec = named("node-a");
  spec.is_ca = true;
  const Failures failures = meet(server_, authority_.issue("node-a-signer", spec));
  ASSERT_FALSE(failures.server);
  EXPECT_EQ(failures.server.error().code, ErrorCode::Denied);
  EXPECT_NE(failures.server.error().what.find("CA:FALSE"), std::string::npos);
}

TEST_F(TlsPeerTest, RefusesAClientWithoutCertificate) {
  const Failures failures = meet(server_, TlsFiles{authority_.ca_file(), {}, {}});
  ASSERT_FALSE(failures.server);
  EXPECT_EQ(failures.server.error(), (Error{ErrorCode::Denied, "the peer sent no certificate"}));
  EXPECT_EQ(failures.client.error(), (Error{ErrorCode::Denied, "the peer wants a certificate of ours"}));
}

TEST_F(TlsPeerTest, RefusesAClientWhoseCertificateExpiredSinceItWasLoaded) {
  CertificateSpec spec = named("node-a");
  spec.valid_from = std::chrono::hours(-48);
  spec.valid_until = std::chrono::hours(-24);
  const TlsFiles expired = authority_.issue("expired", spec);
  const auto use_expired = [&](SSL_CTX* context) {
    SSL_CTX_use_certificate_file(context, expired.certificate.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context, expired.key.c_str(), SSL_FILETYPE_PEM);
  };
  const Failures failures = meet(server_, client_, "server.example", use_expired);
  ASSERT_FALSE(failures.server);
  EXPECT_EQ(failures.server.error(), (Error{ErrorCode::Denied, "the peer's certificate is expired"}));
  EXPECT_EQ(failures.client.error(), (Error{ErrorCode::Denied, "the peer says our certificate is expired"}));
}

TEST_F(TlsPeerTest, RefusesATls12Client) {
  const auto only_tls12 = [](SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  };
  const Failures failures = meet(server_, client_, "server.example", only_tls12);
  ASSERT_FALSE(failures.server);
  EXPECT_EQ(failures.server.error(), (Error{ErrorCode::Unsupported, "the peer does not offer TLS 1.3"}));
  EXPECT_EQ(failures.client.error(), (Error{ErrorCode::Unsupported, "the peer refused TLS 1.2 or 1.3"}));
}

TEST_F(TlsPeerTest, RefusesAServerOfAnotherCaOrName) {
  TlsFiles forged = stranger_.issue("server-forged", named("server.example"));
  forged.ca = authority_.ca_file();
  EXPECT_EQ(meet(forged, client_).client.error().what, "the peer's certificate is from an unknown CA");
  EXPECT_EQ(meet(server_, client_, "other.example").client.error().what, "the peer's certificate is for another name");
}

TEST_F(TlsPeerTest, ChecksAnAddressAgainstTheAddressesOfTheCertificate) {
  CertificateSpec spec;
  spec.ip_addresses = {"127.0.0.1", "::1"};
  const TlsFiles server = authority_.issue("server-ip", spec);
  EXPECT_TRUE(meet(server, client_, "127.0.0.1").server);
  EXPECT_TRUE(meet(server, client_, "::1").server);
  EXPECT_EQ(meet(server, client_, "192.0.2.1").client.error().what, "the peer's certificate is for another name");
}

TEST_F(TlsPeerTest, SendsTheServerNameToTheServer) {
  auto context = TlsContext::client(client_).value();
  auto [server_socket, client_socket] = connected_pair(io_);
  const TlsStream stream = TlsStream::client(std::move(client_socket), context, "server.example").value();
  EXPECT_STREQ(SSL_get_servername(stream.native(), TLSEXT_NAMETYPE_host_name), "server.example");
  EXPECT_FALSE(expect_server_name(stream.native(), ""));
}

TEST_F(TlsPeerTest, SaysThatAPlainTextClientDoesNotSpeakTls) {
  const auto context = TlsContext::server(server_).value();
  const auto error_for = [&](std::string_view sent) {
    auto [server_socket, client_socket] = connected_pair(io_);
    asio::write(client_socket, asio::buffer(sent));
    client_socket.shutdown(tcp::socket::shutdown_send);
    TlsStream server = TlsStream::server(std::move(server_socket), context).value();
    return run_to_end(io_, server.handshake(soon())).error().what;
  };
  EXPECT_EQ(error_for("GET / HTTP/1.1\r\n\r\n"), "the peer speaks plain HTTP, not TLS");
  EXPECT_EQ(error_for(std::string("\0\0\0\x10hello, this is gpuskew", 26)), "the peer does not speak TLS");
  EXPECT_EQ(error_for("SSH-2.0-OpenSSH_9.2\r\n"), "the peer does not speak TLS");
  EXPECT_EQ(error_for(""), "the peer cut the connection");
}

}  // namespace
}  // namespace gpuskew
