#include "runtime/http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

namespace gpuskew {
namespace {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Connected = Result<std::unique_ptr<HttpConnection>>;

void set_option(int fd, int level, int name, int value) {
  // Without the option the connection works as well; a dead peer is noticed later.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

void watch_for_dead_peer(int fd) {
  constexpr int kProbes = 3;
  const auto seconds = static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(kHttpDeadPeerTime).count());
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds / (kProbes + 1));
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds / (kProbes + 1));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kHttpDeadPeerTime.count()));
}

/// An address that does not answer leaves time for those behind it.
asio::awaitable<Result<tcp::socket>> connect_in_turn(std::vector<tcp::endpoint> endpoints, Deadline deadline) {
  Result<tcp::socket> last = fail(ErrorCode::Unreachable, "no address to connect to");
  std::size_t left = endpoints.size();
  for (const tcp::endpoint& endpoint : endpoints) {
    const Deadline now = Clock::now();
    const Deadline share = deadline == kNoDeadline ? deadline : now + (deadline - now) / static_cast<int>(left);
    std::vector<tcp::endpoint> one(1, endpoint);
    last = co_await connect_tcp(std::move(one), share);
    if (last) {
      watch_for_dead_peer(last->native_handle());
      break;
    }
    --left;
  }
  co_return last;
}

asio::awaitable<Result<tcp::socket>> connect_host(HostPort address, Deadline deadline) {
  Result<std::vector<tcp::endpoint>> endpoints = co_await resolve(std::move(address), deadline);
  if (!endpoints) {
    co_return tl::unexpected(endpoints.error());
  }
  co_return co_await connect_in_turn(std::move(*endpoints), deadline);
}

/// Asks the proxy for a way to the target; what comes after its answer is the target's.
asio::awaitable<Result<tcp::socket>> tunnel(tcp::socket socket, HttpTarget target, Deadline deadline) {
  Result<HttpStream> stream = HttpStream::plain(std::move(socket));
  if (!stream) {
    co_return tl::unexpected(stream.error());
  }
  const std::string to = to_string(target.address);
  std::string request = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n";
  if (!target.proxy_authorization.empty()) {
    request += "Proxy-Authorization: " + target.proxy_authorization + "\r\n";
  }
  request += "\r\n";
  const Result<void> sent = co_await stream->write_all(request, deadline);
  if (!sent) {
    co_return tl::unexpected(sent.error());
  }
  HttpReplyReader reader;
  reader.begin(true);
  while (!reader.is_complete()) {
    // Byte by byte: what follows the head must stay in the socket.
    char byte = 0;
    const std::span<char> buffer(&byte, 1);
    const Result<std::size_t> got = co_await stream->read_some(buffer, deadline);
    if (!got) {
      co_return tl::unexpected(got.error());
    }
    std::string_view bytes(&byte, *got);
    const Result<void> read = *got == 0 ? reader.read_end() : reader.read(bytes);
    if (!read) {
      co_return tl::unexpected(read.error());
    }
  }
  if (reader.head().status != 200) {
    co_return fail(ErrorCode::Denied, "it answers CONNECT with " + std::to_string(reader.head().status));
  }
  co_return stream->take_socket();
}

Result<HttpStream> stream_over(tcp::socket socket, const TlsContext* tls, const std::string& server_name) {
  if (tls == nullptr) {
    return HttpStream::plain(std::move(socket));
  }
  auto stream = TlsStream::client(std::move(socket), *tls, server_name);
  if (!stream) {
    return tl::unexpected(stream.error());
  }
  return HttpStream(std::move(*stream));
}

}  // namespace

HttpConnection::HttpConnection(HttpStream stream) : stream_(std::move(stream)) {}
HttpConnection::~HttpConnection() = default;

asio::awaitable<Connected> HttpConnection::connect(HttpTarget target, std::shared_ptr<const TlsContext> tls,
                                                   Deadline deadline) {
  const HostPort first_hop = target.proxy.value_or(target.address);
  Result<tcp::socket> socket = co_await connect_host(first_hop, deadline);
  if (socket && target.proxy) {
    socket = co_await tunnel(std::move(*socket), target, deadline);
  }
  if (!socket) {
    if (target.proxy) {
      co_return fail("proxy " + to_string(*target.proxy), socket.error());
    }
    co_return tl::unexpected(socket.error());
  }
  Result<HttpStream> stream = stream_over(std::move(*socket), tls.get(), target.server_name);
  if (!stream) {
    co_return tl::unexpected(stream.error());
  }
  const Result<void> shaken = co_await stream->handshake(deadline);
  if (!shaken) {
    co_return tl::unexpected(shaken.error());
  }
  co_return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(*stream)));
}

asio::awaitable<Result<void>> HttpConnection::send(std::string request, Deadline deadline) {
  reader_.begin(request.starts_with("HEAD "));
  used_ = true;
  co_return co_await stream_.write_all(request, deadline);
}

asio::awaitable<Result<void>> HttpConnection::read_some(Deadline deadline) {
  if (unread_.empty()) {
    buffer_.resize(kHttpReadBytes);
    const std::span<char> space(buffer_.data(), buffer_.size());
    const Result<std::size_t> got = co_await stream_.read_some(space, deadline);
    if (!got) {
      co_return tl::unexpected(got.error());
    }
    if (*got == 0) {
      co_return reader_.read_end();
    }
    unread_ = std::string_view(buffer_).substr(0, *got);
  }
  co_return reader_.read(unread_);
}

asio::awaitable<Result<const HttpReplyHead*>> HttpConnection::read_head(Deadline deadline) {
  while (!reader_.has_head()) {
    const Result<void> read = co_await read_some(deadline);
    if (!read) {
      co_return tl::unexpected(read.error());
    }
  }
  co_return &reader_.head();
}

asio::awaitable<Result<std::string>> HttpConnection::read_body(Deadline deadline) {
  for (;;) {
    std::string piece = reader_.take_body();
    if (!piece.empty()) {
      co_return std::move(piece);
    }
    if (reader_.is_complete()) {
      if (unread_.empty()) {
        std::string().swap(buffer_);
      }
      co_return std::string();
    }
    const Result<void> read = co_await read_some(deadline);
    if (!read) {
      co_return tl::unexpected(read.error());
    }
  }
}

bool HttpConnection::is_reusable() const {
  return (!used_ || reader_.keeps_alive()) && unread_.empty() && stream_.is_quiet();
}

}  // namespace gpuskew
