#pragma once

// TLS over a socket whose descriptor OpenSSL reads and writes itself; asio only waits until it is ready. That costs a
// third of asio::ssl::stream's memory (26 KB against 83 KB an idle mutual-TLS connection, measured): at 50,000
// agents 1.3 GB instead of 4.1.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <openssl/types.h>

#include "core/result.h"
#include "runtime/ready_socket.h"

namespace gpuskew {

class TlsContext;

/// One TLS connection, as server or client. Move-only; moving is allowed while no operation waits.
/// At most one reader and one writer may wait at the same time. An operation that passed its deadline fails with
/// Timeout and ends the connection for both; so does every other error. Cancelling the calling coroutine throws asio's
/// operation_aborted at its next await, as everywhere in asio.
class TlsStream {
 public:
  /// Takes the socket (made non-blocking, TCP_NODELAY). For a client, `server_name` is checked in the handshake.
  static Result<TlsStream> server(asio::ip::tcp::socket socket, const TlsContext& context);
  static Result<TlsStream> client(asio::ip::tcp::socket socket, const TlsContext& context,
                                  const std::string& server_name);

  TlsStream(TlsStream&&) noexcept;
  TlsStream& operator=(TlsStream&&) noexcept;
  ~TlsStream();

  /// In TLS 1.3 a client's handshake succeeds before the server has judged its certificate: a refusal is the first
  /// read's error.
  asio::awaitable<Result<void>> handshake(Deadline deadline);

  /// What is there now, without waiting: the number of bytes, 0 when the peer closed in an orderly way, nothing when
  /// none are there yet. The buffer must not be empty.
  Result<std::optional<std::size_t>> try_read(std::span<char> buffer);

  /// Waits until try_read() is worth a call.
  asio::awaitable<Result<void>> wait_readable(Deadline deadline);

  /// At least one byte; 0 when the peer closed in an orderly way. A connection cut without TLS's close_notify is
  /// Unreachable.
  asio::awaitable<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline);

  /// All of `bytes`, which must stay valid until this ends.
  asio::awaitable<Result<void>> write_all(std::string_view bytes, Deadline deadline);

  /// Sends close_notify, as far as the deadline allows, and closes the socket. The peer's answer is not waited for.
  asio::awaitable<void> shutdown(Deadline deadline);

  /// At once, without close_notify; operations that wait fail.
  void close();

  /// See peer_names(SSL*). After the handshake.
  std::vector<std::string> peer_names() const;
  /// "192.0.2.7:41234"; "unknown" when the socket was closed before it was known.
  const std::string& peer_address() const;
  SSL* native() const;
  /// -1 when it is closed.
  int descriptor() const;

 private:
  struct Connection;
  explicit TlsStream(std::shared_ptr<Connection> connection);
  static Result<TlsStream> make(asio::ip::tcp::socket socket, const TlsContext& context);

  std::shared_ptr<Connection> connection_;
};

}  // namespace gpuskew
