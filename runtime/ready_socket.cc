#include "runtime/ready_socket.h"

#include <sys/socket.h>

#include <cerrno>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/file.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

/// Cancels the socket when the deadline passes before this is destroyed.
class DeadlineGuard {
 public:
  DeadlineGuard(const std::shared_ptr<ReadySocket>& socket, ReadySocket::Waiter ReadySocket::*which, Deadline deadline)
      : waiter_((*socket).*which) {
    waiter_.expired = false;
    if (deadline == kNoDeadline) {
      return;
    }
    armed_ = true;
    waiter_.timer.expires_at(deadline);
    waiter_.timer.async_wait([weak = std::weak_ptr(socket), which, turn = waiter_.turn](asio::error_code error) {
      const auto alive = weak.lock();
      if (error || !alive || ((*alive).*which).turn != turn) {
        return;
      }
      ((*alive).*which).expired = true;
      asio::error_code ignored;  // nothing waits, when there is nothing to cancel
      alive->socket.cancel(ignored);
    });
  }
  ~DeadlineGuard() {
    ++waiter_.turn;
    if (armed_) {
      waiter_.timer.cancel();
    }
  }
  DeadlineGuard(const DeadlineGuard&) = delete;
  DeadlineGuard& operator=(const DeadlineGuard&) = delete;

 private:
  ReadySocket::Waiter& waiter_;
  bool armed_ = false;
};

asio::awaitable<Result<void>> wait(std::shared_ptr<ReadySocket> socket, tcp::socket::wait_type type,
                                   ReadySocket::Waiter ReadySocket::*which, Deadline deadline) {
  const DeadlineGuard guard(socket, which, deadline);
  asio::error_code error;
  co_await socket->socket.async_wait(type, asio::redirect_error(asio::use_awaitable, error));
  if (((*socket).*which).expired) {
    co_return fail(ErrorCode::Timeout, "no progress within the time limit");
  }
  if (error) {
    co_return fail(ErrorCode::Unreachable, error.message());
  }
  co_return Result<void>();
}

asio::awaitable<Result<tcp::socket>> connect_one(tcp::endpoint endpoint, asio::any_io_executor executor,
                                                 Deadline deadline) {
  asio::error_code error;
  tcp::socket socket(executor);
  socket.open(endpoint.protocol(), error);
  if (!error) {
    socket.native_non_blocking(true, error);
  }
  if (error) {
    co_return fail(ErrorCode::Internal, error.message());
  }
  const auto connecting = std::make_shared<ReadySocket>(std::move(socket));
  const int handle = connecting->socket.native_handle();
  int error_number = 0;
  if (::connect(handle, endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) {
    error_number = errno;
  }
  if (error_number == EINPROGRESS) {
    const Result<void> waited = co_await wait_writable(connecting, deadline);
    if (!waited) {
      co_return tl::unexpected(waited.error());
    }
    socklen_t length = sizeof error_number;
    ::getsockopt(handle, SOL_SOCKET, SO_ERROR, &error_number, &length);
  }
  if (error_number != 0) {
    const Error refused = errno_error("connecting to " + to_string(endpoint), error_number);
    co_return fail(ErrorCode::Unreachable, refused.what);
  }
  co_return std::move(connecting->socket);
}

}  // namespace

ReadySocket::ReadySocket(tcp::socket connected)
    : socket(std::move(connected)), reader(socket.get_executor()), writer(socket.get_executor()) {}

asio::awaitable<Result<void>> wait_readable(std::shared_ptr<ReadySocket> socket, Deadline deadline) {
  return wait(std::move(socket), tcp::socket::wait_read, &ReadySocket::reader, deadline);
}

asio::awaitable<Result<void>> wait_writable(std::shared_ptr<ReadySocket> socket, Deadline deadline) {
  return wait(std::move(socket), tcp::socket::wait_write, &ReadySocket::writer, deadline);
}

asio::awaitable<Result<tcp::socket>> connect_tcp(std::vector<tcp::endpoint> endpoints, Deadline deadline) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Error last{ErrorCode::Unreachable, "no address to connect to"};
  for (const tcp::endpoint& endpoint : endpoints) {
    Result<tcp::socket> connected = co_await connect_one(endpoint, executor, deadline);
    if (connected) {
      co_return std::move(connected);
    }
    last = connected.error();
    if (last.code == ErrorCode::Timeout) {
      co_return fail("connecting to " + to_string(endpoint), last);
    }
  }
  co_return tl::unexpected(last);
}

std::string peer_address(const tcp::socket& socket) {
  asio::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  return error ? "unknown" : to_string(peer);
}

std::string to_string(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

}  // namespace gpuskew
