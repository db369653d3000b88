#pragma once

// One HTTP/1.1 connection to a server, over TLS or plain, perhaps through a proxy: a request and its answer, one after
// another. Bodies are read piece by piece, so that a watch needs no end and a long list no second copy.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <asio/awaitable.hpp>

#include "core/result.h"
#include "core/time.h"
#include "runtime/http_reply_reader.h"
#include "runtime/http_stream.h"
#include "runtime/ready_socket.h"
#include "runtime/resolve.h"
#include "runtime/tls.h"

namespace gpuskew {

/// Read from the socket at once; a piece of a body is not longer.
inline constexpr std::size_t kHttpReadBytes = std::size_t{16} << 10;
/// A peer that has vanished is noticed within about this time also when nothing is sent: TCP's own probes.
inline constexpr Duration kHttpDeadPeerTime = std::chrono::seconds(60);

struct HttpTarget {
  HostPort address;
  std::string server_name;          ///< for TLS: the name or address the certificate must be for
  std::optional<HostPort> proxy;    ///< asked to CONNECT to `address`
  std::string proxy_authorization;  ///< "Basic ...", or "" for none
};

/// Not for two coroutines at the same time. After an error it is of no more use.
class HttpConnection {
 public:
  /// Resolves, connects to each address in turn, asks the proxy, shakes hands. Plain HTTP without `tls`. Errors:
  /// NotFound (no such host), Unreachable, Timeout, and the handshake's (Denied, Malformed, Unsupported).
  static asio::awaitable<Result<std::unique_ptr<HttpConnection>>> connect(HttpTarget target,
                                                                          std::shared_ptr<const TlsContext> tls,
                                                                          Deadline deadline);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// A whole request, head and body.
  asio::awaitable<Result<void>> send(std::string request, Deadline deadline);
  /// The answer's head; valid until the next send().
  asio::awaitable<Result<const HttpReplyHead*>> read_head(Deadline deadline);
  /// The next piece of the body, empty at its end.
  asio::awaitable<Result<std::string>> read_body(Deadline deadline);

  /// Whether a byte of the answer to the last request has come: without one the server may not have seen the request.
  bool has_answer_begun() const { return reader_.has_begun(); }
  /// Whether another request can be sent: the last answer was read to its end, and the server still listens.
  bool is_reusable() const;
  void close() { stream_.close(); }

 private:
  explicit HttpConnection(HttpStream stream);
  asio::awaitable<Result<void>> read_some(Deadline deadline);

  HttpStream stream_;
  HttpReplyReader reader_;
  std::string buffer_;       // only while an answer is read
  std::string_view unread_;  // of buffer_
  bool used_ = false;
};

}  // namespace gpuskew
