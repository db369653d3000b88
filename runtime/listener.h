#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "core/result.h"
#include "core/time.h"
#include "runtime/ready_socket.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class Log;

/// Full mutual TLS handshakes cost 1 to 2 ms of CPU each: a reconnect storm above this rate waits in the kernel's
/// backlog.
inline constexpr std::uint32_t kAcceptsPerSecond = 1000;
/// Wait after an accept that failed for want of descriptors or memory: trying at once would spin.
inline constexpr Duration kAcceptRetryDelay = std::chrono::milliseconds(200);
/// Refused and failed accepts are logged at most this often, with their number.
inline constexpr Duration kAcceptLogInterval = std::chrono::seconds(60);

struct ListenerOptions {
  /// For the log lines: "agents".
  std::string name;
  /// Port 0: any.
  asio::ip::tcp::endpoint endpoint;
  /// Further peers are accepted and closed at once, so that they back off.
  std::size_t max_connections = 60'000;
  std::uint32_t accepts_per_second = kAcceptsPerSecond;
};

struct ListenerCounts {
  std::size_t open = 0;        ///< connections now
  std::uint64_t accepted = 0;  ///< handed to the handler
  std::uint64_t refused = 0;   ///< closed at once: max_connections reached
  std::uint64_t failed = 0;    ///< accept(2) failed
  std::uint64_t delayed = 0;   ///< times the rate limit held the loop back

  bool operator==(const ListenerCounts&) const = default;
};

/// Accepts TCP connections and owns a coroutine for each.
class Listener {
 public:
  /// One connection's life. The socket is closed when the coroutine (and what it moved the socket to) ends. An
  /// exception that leaves it is logged as a bug and ends only this connection.
  using Handler = std::function<asio::awaitable<void>(asio::ip::tcp::socket socket)>;

  /// Binds and listens. Errors name the address: "listening on 0.0.0.0:7481: address already in use".
  /// `io` and `log` must outlive the object; the object must outlive run().
  static Result<std::unique_ptr<Listener>> open(asio::io_context& io, const Log& log, ListenerOptions options,
                                                Handler handler);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// The address really bound.
  asio::ip::tcp::endpoint endpoint() const;
  ListenerCounts counts() const;

  /// Accepts until close() or stop(), and ends only when the last connection has ended. For Run::add, with stop() as
  /// its stop function; cancelling it leaves the connections to the io_context.
  asio::awaitable<Result<void>> run();

  /// Accepts no more; connections live on.
  void close();
  /// Accepts no more and cancels every connection: what its coroutine waits for fails with operation_aborted.
  void stop();

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace gpuskew
