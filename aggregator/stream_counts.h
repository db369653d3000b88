#pragma once

// What happened on the agents' streams since the start, for the metrics.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuskew {

enum class RefusedReason : std::uint8_t {
  Handshake,   ///< no TLS, an older TLS, no certificate or one of another CA
  Timeout,     ///< silent in the handshake, before the Hello, or longer than heartbeats allow
  Version,     ///< no stream version in common
  Identity,    ///< the certificate does not name the node
  Protocol,    ///< a message that does not parse, is out of order or past a limit
  Overloaded,  ///< no room for another connection or node
};
inline constexpr std::array kRefusedReasons = {RefusedReason::Handshake, RefusedReason::Timeout,
                                               RefusedReason::Version,   RefusedReason::Identity,
                                               RefusedReason::Protocol,  RefusedReason::Overloaded};
/// "handshake", ...: the metric's label and the log line's `reason`.
std::string_view to_string(RefusedReason reason);

struct StreamCounts {
  std::size_t connected = 0;            ///< agents past their Hello, now
  std::uint64_t reports = 0;            ///< snapshots taken
  std::uint64_t unchanged_reports = 0;  ///< of them, those that said what the one before said
  std::uint64_t heartbeats = 0;
  std::array<std::uint64_t, kRefusedReasons.size()> refused{};

  std::uint64_t& of(RefusedReason reason) { return refused[static_cast<std::size_t>(reason)]; }
  std::uint64_t of(RefusedReason reason) const { return refused[static_cast<std::size_t>(reason)]; }
};

}  // namespace gpuskew
