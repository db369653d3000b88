#include "runtime/http_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include <openssl/ssl.h>

#include "runtime/file.h"

namespace gpuskew {

using asio::ip::tcp;

HttpStream::HttpStream(TlsStream stream) : tls_(std::move(stream)) {}

HttpStream::HttpStream(std::shared_ptr<ReadySocket> socket) : plain_(std::move(socket)) {}

Result<HttpStream> HttpStream::plain(tcp::socket socket) {
  asio::error_code error;
  socket.native_non_blocking(true, error);
  if (!error) {
    socket.set_option(tcp::no_delay(true), error);
  }
  if (error) {
    return fail(ErrorCode::Unreachable, error.message());
  }
  return HttpStream(std::make_shared<ReadySocket>(std::move(socket)));
}

asio::awaitable<Result<void>> HttpStream::handshake(Deadline deadline) {
  if (!tls_) {
    co_return Result<void>();
  }
  co_return co_await tls_->handshake(deadline);
}

asio::awaitable<Result<std::size_t>> HttpStream::read_some(std::span<char> buffer, Deadline deadline) {
  if (tls_) {
    co_return co_await tls_->read_some(buffer, deadline);
  }
  for (;;) {
    const ssize_t got = ::recv(plain_->socket.native_handle(), buffer.data(), buffer.size(), 0);
    if (got >= 0) {
      co_return static_cast<std::size_t>(got);
    }
    if (errno != EAGAIN && errno != EINTR) {
      co_return tl::unexpected(errno_error("reading", errno));
    }
    const Result<void> waited = co_await wait_readable(plain_, deadline);
    if (!waited) {
      co_return tl::unexpected(waited.error());
    }
  }
}

asio::awaitable<Result<void>> HttpStream::write_all(std::string_view bytes, Deadline deadline) {
  if (tls_) {
    co_return co_await tls_->write_all(bytes, deadline);
  }
  while (!bytes.empty()) {
    const ssize_t put = ::send(plain_->socket.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) {
      co_return tl::unexpected(errno_error("writing", errno));
    }
    const Result<void> waited = co_await wait_writable(plain_, deadline);
    if (!waited) {
      co_return waited;
    }
  }
  co_return Result<void>();
}

asio::awaitable<void> HttpStream::shutdown(Deadline deadline) {
  if (tls_) {
    co_await tls_->shutdown(deadline);
    co_return;
  }
  asio::error_code ignored;  // the client may be gone already
  plain_->socket.shutdown(tcp::socket::shutdown_both, ignored);
  plain_->socket.close(ignored);
}

void HttpStream::close() {
  if (tls_) {
    tls_->close();
    return;
  }
  asio::error_code ignored;
  plain_->socket.close(ignored);
}

bool HttpStream::is_quiet() const {
  if (tls_ && SSL_has_pending(tls_->native()) == 1) {
    return false;
  }
  pollfd waiting{tls_ ? tls_->descriptor() : plain_->socket.native_handle(), POLLIN | POLLRDHUP, 0};
  return waiting.fd >= 0 && ::poll(&waiting, 1, 0) == 0;
}

tcp::socket HttpStream::take_socket() {
  return std::move(plain_->socket);
}

}  // namespace gpuskew
