#include "runtime/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "runtime/tls.h"
#include "runtime/tls_peer.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

/// What one OpenSSL call that did not succeed wants next.
enum class Wants : std::uint8_t { Readable, Writable, Nothing };

int call_length(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}

}  // namespace

struct TlsStream::Connection {
  Connection(tcp::socket socket, SSL* made)
      : ready(std::move(socket)), ssl(made), address(gpuskew::peer_address(ready.socket)) {}
  ~Connection() { SSL_free(ssl); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// For a call that returned `result`; an error also ends the connection.
  Result<Wants> after(int result) {
    const int saved_errno = errno;
    const int error = SSL_get_error(ssl, result);
    if (error == SSL_ERROR_WANT_READ) {
      return Wants::Readable;
    }
    if (error == SSL_ERROR_WANT_WRITE) {
      return Wants::Writable;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
      return Wants::Nothing;
    }
    return tl::unexpected(tls_error(ssl, error, saved_errno));
  }

  /// Before every call: OpenSSL keeps the descriptor's number, which after close() may be another connection's.
  Result<void> begin() const {
    if (!ready.socket.is_open()) {
      return fail(ErrorCode::Unreachable, "the connection is closed");
    }
    ERR_clear_error();
    errno = 0;
    return {};
  }

  Result<std::optional<std::size_t>> try_read(std::span<char> buffer) {
    if (auto open = begin(); !open) {
      return tl::unexpected(open.error());
    }
    const int got = SSL_read(ssl, buffer.data(), call_length(buffer.size()));
    if (got > 0) {
      return std::optional(static_cast<std::size_t>(got));
    }
    const auto wants = after(got);
    if (!wants) {
      return tl::unexpected(wants.error());
    }
    // There is no renegotiation, so a read never has to wait for the socket to become writable for long.
    return *wants == Wants::Nothing ? std::optional<std::size_t>(0) : std::nullopt;
  }

  ReadySocket ready;
  SSL* ssl;
  std::string address;
};

namespace {

/// The part of the connection that can be waited for; keeps all of it alive.
template <class Connection>
std::shared_ptr<ReadySocket> socket_of(const std::shared_ptr<Connection>& connection) {
  return std::shared_ptr<ReadySocket>(connection, &connection->ready);
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
TlsStream::TlsStream(TlsStream&&) noexcept = default;
TlsStream& TlsStream::operator=(TlsStream&&) noexcept = default;
TlsStream::~TlsStream() {
  if (connection_) {
    close();
  }
}

Result<TlsStream> TlsStream::make(tcp::socket socket, const TlsContext& context) {
  asio::error_code error;
  socket.native_non_blocking(true, error);
  if (!error) {
    socket.set_option(tcp::no_delay(true), error);
  }
  if (error) {
    return fail(ErrorCode::Unreachable, "the connection failed: " + error.message());
  }
  SSL* const ssl = SSL_new(context.native());
  if (ssl == nullptr) {
    ERR_clear_error();
    return fail(ErrorCode::Internal, "no memory for a TLS connection");
  }
  const int handle = socket.native_handle();
  TlsStream stream(std::make_shared<Connection>(std::move(socket), ssl));
  if (SSL_set_fd(ssl, handle) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::Internal, "no memory for a TLS connection");
  }
  return stream;
}

Result<TlsStream> TlsStream::server(tcp::socket socket, const TlsContext& context) {
  auto stream = make(std::move(socket), context);
  if (stream) {
    SSL_set_accept_state(stream->native());
  }
  return stream;
}

Result<TlsStream> TlsStream::client(tcp::socket socket, const TlsContext& context, const std::string& server_name) {
  auto stream = make(std::move(socket), context);
  if (!stream) {
    return stream;
  }
  SSL_set_connect_state(stream->native());
  if (auto expected = expect_server_name(stream->native(), server_name); !expected) {
    return tl::unexpected(expected.error());
  }
  return stream;
}

asio::awaitable<Result<void>> TlsStream::handshake(Deadline deadline) {
  const auto connection = connection_;
  const auto socket = socket_of(connection);
  for (;;) {
    const Result<void> open = connection->begin();
    if (!open) {
      co_return open;
    }
    const int done = SSL_do_handshake(connection->ssl);
    if (done == 1) {
      co_return Result<void>();
    }
    const Result<Wants> wants = connection->after(done);
    if (!wants) {
      co_return tl::unexpected(wants.error());
    }
    Result<void> waited;
    if (*wants == Wants::Readable) {
      waited = co_await gpuskew::wait_readable(socket, deadline);
    } else if (*wants == Wants::Writable) {
      waited = co_await wait_writable(socket, deadline);
    } else {
      waited = fail(ErrorCode::Unreachable, "the peer closed the connection");
    }
    if (!waited) {
      co_return waited;
    }
  }
}

Result<std::optional<std::size_t>> TlsStream::try_read(std::span<char> buffer) {
  return connection_->try_read(buffer);
}

asio::awaitable<Result<void>> TlsStream::wait_readable(Deadline deadline) {
  return gpuskew::wait_readable(socket_of(connection_), deadline);
}

asio::awaitable<Result<std::size_t>> TlsStream::read_some(std::span<char> buffer, Deadline deadline) {
  const auto connection = connection_;
  const auto socket = socket_of(connection);
  for (;;) {
    const Result<std::optional<std::size_t>> got = connection->try_read(buffer);
    if (!got) {
      co_return tl::unexpected(got.error());
    }
    if (*got) {
      co_return **got;
    }
    const Result<void> waited = co_await gpuskew::wait_readable(socket, deadline);
    if (!waited) {
      co_return tl::unexpected(waited.error());
    }
  }
}

asio::awaitable<Result<void>> TlsStream::write_all(std::string_view bytes, Deadline deadline) {
  const auto connection = connection_;
  const auto socket = socket_of(connection);
  while (!bytes.empty()) {
    const Result<void> open = connection->begin();
    if (!open) {
      co_return open;
    }
    const int put = SSL_write(connection->ssl, bytes.data(), call_length(bytes.size()));
    if (put > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    const Result<Wants> wants = connection->after(put);
    if (!wants) {
      co_return tl::unexpected(wants.error());
    }
    if (*wants != Wants::Writable) {
      co_return fail(ErrorCode::Unreachable, "the peer closed the connection");
    }
    const Result<void> waited = co_await wait_writable(socket, deadline);
    if (!waited) {
      co_return waited;
    }
  }
  co_return Result<void>();
}

asio::awaitable<void> TlsStream::shutdown(Deadline deadline) {
  const auto connection = connection_;
  const auto socket = socket_of(connection);
  for (;;) {
    const Result<void> open = connection->begin();
    if (!open) {
      co_return;
    }
    const int done = SSL_shutdown(connection->ssl);
    if (done >= 0) {
      break;
    }
    const Result<Wants> wants = connection->after(done);
    if (!wants || *wants != Wants::Writable) {
      break;
    }
    const Result<void> waited = co_await wait_writable(socket, deadline);
    if (!waited) {
      break;
    }
  }
  asio::error_code ignored;  // there is nothing to do about a socket that does not close
  connection->ready.socket.shutdown(tcp::socket::shutdown_both, ignored);
  connection->ready.socket.close(ignored);
}

void TlsStream::close() {
  asio::error_code ignored;
  connection_->ready.socket.close(ignored);
}

std::vector<std::string> TlsStream::peer_names() const {
  return gpuskew::peer_names(connection_->ssl);
}

const std::string& TlsStream::peer_address() const {
  return connection_->address;
}

SSL* TlsStream::native() const {
  return connection_->ssl;
}

int TlsStream::descriptor() const {
  return connection_->ready.socket.is_open() ? connection_->ready.socket.native_handle() : -1;
}

}  // namespace gpuskew
