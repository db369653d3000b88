#pragma once

// Waiting for a socket with a deadline. asio 1.22 has no cancel_after, and `operation || timer` costs two coroutine
// frames a wait: here one timer a direction cancels the socket.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "core/result.h"

namespace gpuskew {

/// A point on the clock that waits are measured by.
using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

/// A socket with a timer for its reader and one for its writer. Lives in a shared_ptr (also as a part of what the
/// pointer owns), which a wait keeps alive.
struct ReadySocket {
  explicit ReadySocket(asio::ip::tcp::socket connected);

  struct Waiter {
    explicit Waiter(const asio::any_io_executor& executor) : timer(executor) {}
    asio::steady_timer timer;
    std::uint64_t turn = 0;  ///< tells a timer's late handler that its wait is over
    bool expired = false;
  };

  asio::ip::tcp::socket socket;
  Waiter reader;
  Waiter writer;
};

/// Until the socket is readable or writable. Timeout at the deadline; Unreachable when the socket was closed or failed.
/// A deadline that passes cancels the other direction's wait too: the connection is of no use after it.
asio::awaitable<Result<void>> wait_readable(std::shared_ptr<ReadySocket> socket, Deadline deadline);
asio::awaitable<Result<void>> wait_writable(std::shared_ptr<ReadySocket> socket, Deadline deadline);

/// Connects to one of `endpoints`, in order. Timeout at the deadline; Unreachable with the last reason.
asio::awaitable<Result<asio::ip::tcp::socket>> connect_tcp(std::vector<asio::ip::tcp::endpoint> endpoints,
                                                           Deadline deadline);

/// "192.0.2.7:41234", or "unknown" for a socket that is not connected (any more).
std::string peer_address(const asio::ip::tcp::socket& socket);

/// "127.0.0.1:7480", "[::1]:7480".
std::string to_string(const asio::ip::tcp::endpoint& endpoint);

}  // namespace gpuskew
