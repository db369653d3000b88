#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "core/result.h"
#include "runtime/ready_socket.h"

namespace gpuskew {

struct HostPort {
  std::string host;  ///< a name or an address, IPv6 without brackets
  std::uint16_t port = 0;

  bool operator==(const HostPort&) const = default;
};

/// "gpuskew.example:7481", "192.0.2.1:7481", "[2001:db8::1]:7481". Malformed says what is wrong. Port 0 is allowed.
Result<HostPort> parse_host_port(std::string_view text);
/// The form parse_host_port() reads.
std::string to_string(const HostPort& address);

/// An address to listen on: like parse_host_port(), but the host must be an IPv4 or IPv6 address in digits.
Result<asio::ip::tcp::endpoint> parse_listen_address(std::string_view text);

/// Look-ups that hang (an unreachable DNS server) are abandoned at their deadline and end in their own time; past this
/// many, new ones fail at once.
inline constexpr int kMaxAbandonedLookups = 8;
/// Addresses of one name beyond these are left out.
inline constexpr std::size_t kMaxAddresses = 16;

/// The host's addresses in getaddrinfo(3)'s order. An address in digits is answered at once. A name is looked up on a
/// thread of its own, because getaddrinfo can not be cancelled; the thread is never waited for, so it does not delay
/// the process's exit. NotFound: no such name. Timeout: no answer by the deadline. Unreachable: the resolver failed.
asio::awaitable<Result<std::vector<asio::ip::tcp::endpoint>>> resolve(HostPort address, Deadline deadline);

}  // namespace gpuskew
