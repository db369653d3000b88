#pragma once

// The bytes of one HTTP connection, over TLS or plain.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "core/result.h"
#include "runtime/ready_socket.h"
#include "runtime/tls_stream.h"

namespace gpuskew {

class HttpStream {
 public:
  explicit HttpStream(TlsStream stream);
  static Result<HttpStream> plain(asio::ip::tcp::socket socket);

  /// Nothing to do without TLS.
  asio::awaitable<Result<void>> handshake(Deadline deadline);
  /// 0 when the client closed.
  asio::awaitable<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline);
  /// All of `bytes`, which must stay valid until this ends.
  asio::awaitable<Result<void>> write_all(std::string_view bytes, Deadline deadline);
  asio::awaitable<void> shutdown(Deadline deadline);
  /// At once; what waits, fails.
  void close();

  /// Whether the connection is open and nothing waits to be read: not even the peer's end.
  bool is_quiet() const;
  /// Of a plain stream, which is of no use after it: for TLS behind a proxy's answer.
  asio::ip::tcp::socket take_socket();

 private:
  explicit HttpStream(std::shared_ptr<ReadySocket> socket);

  std::optional<TlsStream> tls_;  // else plain_
  std::shared_ptr<ReadySocket> plain_;
};

}  // namespace gpuskew
