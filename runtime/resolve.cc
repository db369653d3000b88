#include "runtime/resolve.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <asio/ip/address.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/file.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;
using Endpoints = std::vector<tcp::endpoint>;

std::atomic<int> lookups_running{0};

/// Shared by the coroutine and its thread; the last of both frees it. The thread closes its end of the pipe when the
/// answer is in: it never touches asio, whose io_context may be gone by then.
struct Lookup {
  HostPort address;
  std::mutex guard;
  std::optional<Result<Endpoints>> answer;
};

Result<Endpoints> look_up(const HostPort& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), nullptr, &hints, &found);
  const std::string context = "looking up " + address.host;
  if (failed == EAI_NONAME || failed == EAI_NODATA) {
    return fail(ErrorCode::NotFound, context + ": no such host");
  }
  if (failed != 0) {
    return fail(ErrorCode::Unreachable, context + ": " + ::gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  Endpoints endpoints;
  for (const addrinfo* entry = found; entry != nullptr && endpoints.size() < kMaxAddresses; entry = entry->ai_next) {
    tcp::endpoint endpoint;
    if (entry->ai_addrlen <= endpoint.capacity()) {
      std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
      endpoint.resize(entry->ai_addrlen);
      endpoint.port(address.port);
      endpoints.push_back(endpoint);
    }
  }
  return endpoints;
}

void run_lookup(const std::shared_ptr<Lookup>& lookup, int done_fd) {
  Result<Endpoints> answer = look_up(lookup->address);
  {
    const std::lock_guard lock(lookup->guard);
    lookup->answer.emplace(std::move(answer));
  }
  --lookups_running;
  ::close(done_fd);
}

/// Starts the thread and returns the descriptor that reads end-of-file when the answer is in.
Result<int> start_thread(const std::shared_ptr<Lookup>& lookup) {
  if (lookups_running.load() >= kMaxAbandonedLookups) {
    return fail(ErrorCode::Unreachable, "earlier look-ups still wait for the name server");
  }
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return tl::unexpected(errno_error("making a pipe", errno));
  }
  ++lookups_running;
  try {
    std::thread(run_lookup, lookup, ends[1]).detach();
  } catch (const std::system_error& error) {
    --lookups_running;
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(ErrorCode::Internal, std::string("starting a thread: ") + error.what());
  }
  return ends[0];
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return fail(ErrorCode::Malformed, "'" + std::string(whole) + "': the port is not a number from 0 to 65535");
  }
  return port;
}

bool is_host_character(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte > ' ' && byte != 0x7f && character != '/' && character != '@' && character != '[' && character != ']';
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const std::string quoted = "'" + std::string(text) + "'";
  const bool bracketed = text.starts_with('[');
  const std::size_t colon = bracketed ? text.find("]:") : text.find(':');
  if (colon == std::string_view::npos) {
    return fail(ErrorCode::Malformed, quoted + " is not HOST:PORT or [IPV6]:PORT");
  }
  const std::string_view host = bracketed ? text.substr(1, colon - 1) : text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + (bracketed ? 2 : 1));
  if (!bracketed && port_text.find(':') != std::string_view::npos) {
    return fail(ErrorCode::Malformed, quoted + ": write an IPv6 address in brackets, [::1]:7481");
  }
  asio::error_code not_an_address;
  asio::ip::make_address_v6(std::string(host), not_an_address);
  if (bracketed && not_an_address) {
    return fail(ErrorCode::Malformed, quoted + ": no IPv6 address in the brackets");
  }
  constexpr std::size_t kMaxHostBytes = 253;  // RFC 1035's limit of a name
  bool good = !host.empty() && host.size() <= kMaxHostBytes;
  for (const char character : host) {
    good = good && is_host_character(character);
  }
  if (!good) {
    return fail(ErrorCode::Malformed, quoted + ": the host is empty, too long or has a character that no host has");
  }
  const auto port = parse_port(port_text, text);
  if (!port) {
    return tl::unexpected(port.error());
  }
  return HostPort{std::string(host), *port};
}

std::string to_string(const HostPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<tcp::endpoint> parse_listen_address(std::string_view text) {
  const auto address = parse_host_port(text);
  if (!address) {
    return tl::unexpected(address.error());
  }
  asio::error_code error;
  const auto parsed = asio::ip::make_address(address->host, error);
  if (error) {
    return fail(ErrorCode::Malformed,
                "'" + std::string(text) + "': listen on an address in digits, such as 0.0.0.0 or [::], not on a name");
  }
  return tcp::endpoint(parsed, address->port);
}

asio::awaitable<Result<std::vector<tcp::endpoint>>> resolve(HostPort address, Deadline deadline) {
  asio::error_code error;
  const auto in_digits = asio::ip::make_address(address.host, error);
  if (!error) {
    co_return Endpoints(1, tcp::endpoint(in_digits, address.port));
  }
  const auto lookup = std::make_shared<Lookup>();
  lookup->address = address;
  const Result<int> started = start_thread(lookup);
  if (!started) {
    co_return fail("looking up " + address.host, started.error());
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  // Shared with the timer's handler, which may run after this coroutine has ended.
  const auto done = std::make_shared<asio::posix::stream_descriptor>(executor, *started);
  asio::steady_timer timer(executor, deadline);
  timer.async_wait([weak = std::weak_ptr(done)](asio::error_code cancelled) {
    const auto alive = weak.lock();
    if (!cancelled && alive) {
      asio::error_code ignored;
      alive->cancel(ignored);
    }
  });
  co_await done->async_wait(asio::posix::stream_descriptor::wait_read,
                            asio::redirect_error(asio::use_awaitable, error));
  const std::lock_guard lock(lookup->guard);
  if (!lookup->answer) {
    co_return fail(ErrorCode::Timeout, "looking up " + address.host + ": no answer within the time limit");
  }
  co_return std::move(*lookup->answer);
}

}  // namespace gpuskew
