#include "runtime/tls_stream.h"

#include <array>

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "runtime/tls.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/connected_pair.h"
#include "tests/unit/runtime/event_loop.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

Deadline in(std::chrono::milliseconds wait) {
  return std::chrono::steady_clock::now() + wait;
}

class TlsStreamTest : public testing::Test {
 protected:
  TlsStreamTest() {
    CertificateSpec spec;
    spec.dns_names = {"server.example"};
    server_context_.emplace(TlsContext::server(authority_.issue("server", spec)).value());
    spec.dns_names = {"node-a"};
    client_context_.emplace(TlsContext::client(authority_.issue("node-a", spec)).value());
    auto [server_socket, client_socket] = connected_pair(io_);
    server_.emplace(TlsStream::server(std::move(server_socket), *server_context_).value());
    client_.emplace(TlsStream::client(std::move(client_socket), *client_context_, "server.example").value());
  }

  void shake_hands() {
    Result<void> client_result;
    spawn(io_, handshake_into(*client_, client_result));
    const Result<void> server_result = run_to_end(io_, server_->handshake(soon()));
    ASSERT_TRUE(server_result) << server_result.error().what;
    ASSERT_TRUE(client_result) << client_result.error().what;
  }
  static asio::awaitable<void> handshake_into(TlsStream& stream, Result<void>& result) {
    result = co_await stream.handshake(soon());
  }
  static asio::awaitable<void> write_into(TlsStream& stream, std::string_view bytes, Result<void>& result) {
    result = co_await stream.write_all(bytes, soon());
  }
  static asio::awaitable<Result<std::string>> read_exactly(TlsStream& stream, std::size_t wanted) {
    std::string text(wanted, '\0');
    std::size_t have = 0;
    while (have < wanted) {
      const std::span<char> rest(text.data() + have, wanted - have);
      const Result<std::size_t> got = co_await stream.read_some(rest, soon());
      if (!got) {
        co_return tl::unexpected(got.error());
      }
      if (*got == 0) {
        co_return fail(ErrorCode::Unreachable, "closed early");
      }
      have += *got;
    }
    co_return text;
  }

  asio::io_context io_{1};
  TemporaryDirectory directory_;
  CertificateAuthority authority_{directory_.path(), "ca"};
  std::optional<TlsContext> server_context_;
  std::optional<TlsContext> client_context_;
  std::optional<TlsStream> server_;
  std::optional<TlsStream> client_;
  std::array<char, 256> buffer_{};
};

TEST_F(TlsStreamTest, SpeaksTls13AndKnowsBothNames) {
  shake_hands();
  EXPECT_EQ(SSL_version(server_->native()), TLS1_3_VERSION);
  EXPECT_EQ(server_->peer_names(), std::vector<std::string>{"node-a"});
  EXPECT_EQ(client_->peer_names(), std::vector<std::string>{"server.example"});
  EXPECT_EQ(server_->peer_address().substr(0, 10), "127.0.0.1:");
}

class BareClientTest : public TlsStreamTest {
 protected:
  /// The server's own view of a handshake with a client of `client_files`.
  Result<std::vector<std::string>> names_seen(bool clients_may_be_bare, const TlsFiles& client_files) {
    CertificateSpec spec;
    spec.dns_names = {"server.example"};
    const auto server_context = TlsContext::server(authority_.issue("server", spec), clients_may_be_bare).value();
    const auto client_context = TlsContext::client(client_files).value();
    auto [server_socket, client_socket] = connected_pair(io_);
    auto server = TlsStream::server(std::move(server_socket), server_context).value();
    auto client = TlsStream::client(std::move(client_socket), client_context, "server.example").value();
    Result<void> client_result;
    spawn(io_, handshake_into(client, client_result));
    const Result<void> shaken = run_to_end(io_, server.handshake(soon()));
    if (!shaken) {
      return tl::unexpected(shaken.error());
    }
    return server.peer_names();
  }

  const TlsFiles bare_{authority_.ca_file(), {}, {}};
};

TEST_F(BareClientTest, IsLetInWithoutANameWhereTheServerSaysSo) {
  const auto names = names_seen(true, bare_);
  ASSERT_TRUE(names) << names.error().what;
  EXPECT_TRUE(names->empty());
}

TEST_F(BareClientTest, IsRefusedOtherwise) {
  EXPECT_FALSE(names_seen(false, bare_));
}

TEST_F(BareClientTest, ACertificateThatIsShownIsCheckedAllTheSame) {
  CertificateSpec spec;
  spec.dns_names = {"node-b"};
  EXPECT_EQ(names_seen(true, authority_.issue("node-b", spec)).value(), std::vector<std::string>{"node-b"});
  const CertificateAuthority stranger(directory_.path(), "stranger");
  TlsFiles files = stranger.issue("node-c", spec);
  files.ca = authority_.ca_file();
  EXPECT_FALSE(names_seen(true, files));
}

TEST_F(TlsStreamTest, CarriesMoreThanTheSocketsBuffersHold) {
  shake_hands();
  const std::string sent(std::size_t{8} << 20, 'x');
  Result<void> written;
  spawn(io_, write_into(*client_, sent, written));
  const auto received = run_to_end(io_, read_exactly(*server_, sent.size()));
  ASSERT_TRUE(received) << received.error().what;
  EXPECT_EQ(*received, sent);
  EXPECT_TRUE(written);
}

TEST_F(TlsStreamTest, ReadsAndWritesAtTheSameTime) {
  shake_hands();
  Result<void> written;
  const std::string sent(std::size_t{4} << 20, 'y');
  spawn(io_, write_into(*server_, sent, written));
  Result<void> answered;
  spawn(io_, write_into(*client_, "hello", answered));
  EXPECT_EQ(run_to_end(io_, read_exactly(*server_, 5)).value(), "hello");
  EXPECT_EQ(run_to_end(io_, read_exactly(*client_, sent.size())).value(), sent);
  run_until(io_, [&] { return written.has_value(); });
}

TEST_F(TlsStreamTest, SaysWithoutWaitingThatNothingIsThere) {
  shake_hands();
  const auto nothing = server_->try_read(buffer_);
  ASSERT_TRUE(nothing) << nothing.error().what;
  EXPECT_FALSE(nothing->has_value());
  ASSERT_TRUE(run_to_end(io_, client_->write_all("abc", soon())));
  ASSERT_TRUE(run_to_end(io_, server_->wait_readable(soon())));
  EXPECT_EQ(server_->try_read(buffer_).value(), 3U);
}

TEST_F(TlsStreamTest, TellsAnOrderlyCloseFromACutConnection) {
  shake_hands();
  spawn(io_, client_->shutdown(soon()));
  EXPECT_EQ(run_to_end(io_, server_->read_some(buffer_, soon())).value(), 0U);

  auto [server_socket, client_socket] = connected_pair(io_);
  server_.emplace(TlsStream::server(std::move(server_socket), *server_context_).value());
  client_.emplace(TlsStream::client(std::move(client_socket), *client_context_, "server.example").value());
  shake_hands();
  client_->close();
  const auto cut = run_to_end(io_, server_->read_some(buffer_, soon()));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error(), (Error{ErrorCode::Unreachable, "the peer cut the connection"}));
}

TEST_F(TlsStreamTest, TimesOutAPeerThatSaysNothing) {
  const auto shaken = run_to_end(io_, server_->handshake(in(std::chrono::milliseconds(20))));
  ASSERT_FALSE(shaken);
  EXPECT_EQ(shaken.error().code, ErrorCode::Timeout);
}

TEST_F(TlsStreamTest, TimesOutAPeerThatDoesNotRead) {
  shake_hands();
  const std::string sent(std::size_t{64} << 20, 'x');
  const auto written = run_to_end(io_, server_->write_all(sent, in(std::chrono::milliseconds(50))));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::Timeout);
}

TEST_F(TlsStreamTest, FailsEveryOperationAfterItWasClosed) {
  shake_hands();
  asio::post(io_, [this] { server_->close(); });
  EXPECT_FALSE(run_to_end(io_, server_->read_some(buffer_, soon())));
  // The descriptor's number is free again: another connection must not get these bytes.
  auto other = connected_pair(io_);
  EXPECT_EQ(run_to_end(io_, server_->write_all("secret", soon())).error().what, "the connection is closed");
  EXPECT_FALSE(server_->try_read(buffer_));
  EXPECT_FALSE(run_to_end(io_, server_->handshake(soon())));
  EXPECT_EQ(other.second.available(), 0U);
}

TEST_F(TlsStreamTest, SurvivesAPeerThatIsGoneWhenItWrites) {
  shake_hands();
  client_->close();
  Result<void> written;
  for (int turn = 0; turn < 100 && written; ++turn) {
    written = run_to_end(io_, server_->write_all("x", soon()));
  }
  EXPECT_FALSE(written);
}

TEST_F(TlsStreamTest, GivesItsRecordBuffersBackBetweenMessages) {
  shake_hands();
  // SSL_MODE_RELEASE_BUFFERS gives the 16 KiB record buffers back between messages.
  EXPECT_NE(SSL_get_mode(server_->native()) & SSL_MODE_RELEASE_BUFFERS, 0);
}

}  // namespace
}  // namespace gpuskew
