#pragma once

// Answers GET requests over HTTP/1.1 or HTTPS on this project's own listener and TLS stream, so that limits,
// certificate reload and the orderly stop are the same as for the agents' port. http_parser (the parser Node.js used)
// reads the requests.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "core/result.h"
#include "core/time.h"
#include "runtime/tls.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class Log;

inline constexpr std::size_t kMaxHttpUrlBytes = 4096;
inline constexpr std::size_t kMaxHttpHeaders = 64;
/// Request line and headers together. A Kubernetes bearer token is 1 to 2 KiB.
inline constexpr std::size_t kMaxHttpHeadBytes = std::size_t{16} << 10;
inline constexpr std::size_t kMaxHttpBodyBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxHttpConnections = 1024;
/// The whole request, and the wait for the next one on a kept connection.
inline constexpr Duration kHttpReadTimeout = std::chrono::seconds(30);
inline constexpr Duration kHttpWriteTimeout = std::chrono::seconds(30);
inline constexpr Duration kHttpHandshakeTimeout = std::chrono::seconds(10);

struct HttpRequest {
  std::string method;                        ///< "GET"; HEAD arrives as GET, its body is cut off here
  std::string path;                          ///< percent-decoded, begins with '/'
  std::map<std::string, std::string> query;  ///< percent-decoded; of a repeated key the last
  std::vector<std::pair<std::string, std::string>> headers;
  std::string peer;  ///< "192.0.2.7:41234"

  /// The first header of that name, compared without regard to case.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  bool operator==(const HttpResponse&) const = default;
};

/// Asked before the handler, and may take its time; an answer ends the request.
using HttpGuard = std::function<asio::awaitable<std::optional<HttpResponse>>(HttpRequest request)>;

struct HttpServerOptions {
  /// Port 0: any.
  asio::ip::tcp::endpoint endpoint;
  /// Plain HTTP without. With a `ca` in it, a client certificate is required.
  std::optional<TlsFiles> tls;
  std::size_t max_connections = kMaxHttpConnections;
  Duration read_timeout = kHttpReadTimeout;
  HttpGuard guard{};  ///< may be empty
};

/// Started with an io_context that the caller runs, on whose thread everything happens.
/// Requests that do not parse, exceed a limit or carry a body over kMaxHttpBodyBytes are refused here and never reach
/// the handler.
class HttpServer {
 public:
  /// Must not block: it is called on the loop's thread. An exception that leaves it is logged and answered with 500.
  using Handler = std::function<HttpResponse(const HttpRequest& request)>;

  /// Binds and listens. Errors name the address or the file. `io` and `log` must outlive the object.
  static Result<std::unique_ptr<HttpServer>> start(asio::io_context& io, const Log& log, HttpServerOptions options,
                                                   Handler handler);
  /// Only after stop() ended, or after the io_context stopped for good.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// The address really bound.
  asio::ip::tcp::endpoint endpoint() const;
  std::size_t open_connections() const;

  /// The certificate files again, for new connections; on an error the old ones stay. Success without TLS.
  Result<void> reload_tls();
  /// The same with other files (of the kind start() had: TLS can not be switched on or off).
  Result<void> reload_tls(TlsFiles files);

  /// A task for Run: ends when stop() was called and every connection is closed.
  asio::awaitable<Result<void>> run();

  /// No new connections; those that wait for a request close now, those that are being answered when their answer is
  /// out.
  void stop();

 private:
  struct State;
  explicit HttpServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace gpuskew
