#pragma once

// A peer that does not keep to the rules: bytes over TCP, or over TLS with whatever certificate and version.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tls.h"

namespace gpuskew {

struct Exchange {
  bool handshake = false;  ///< always true without TLS
  bool closed = false;     ///< the server ended the connection within the time
  std::string received;
};

/// Connects, sends, and reads until the server closes or the time is up.
Exchange exchange_plain(const std::string& address, std::string_view bytes, std::chrono::milliseconds limit);

/// The same over TLS with a client certificate (none when `certificate` is empty), at most version 1.2 when asked.
Exchange exchange_tls(const std::string& address, const TlsFiles& files, bool only_tls12, std::string_view bytes,
                      std::chrono::milliseconds limit);

}  // namespace gpuskew
