#pragma once

// One agent as the aggregator sees it, without a node behind it: connects, says hello, reports, lives on.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "core/result.h"
#include "runtime/frame.h"
#include "runtime/tls_stream.h"

namespace gpuskew {

class TlsContext;

/// Longer than the aggregator lets a handshake wait for its turn.
inline constexpr std::chrono::seconds kConnectLimit{60};
inline constexpr std::chrono::seconds kAnswerLimit{30};

/// A source address has about 28,000 ports by default: agents past this many use the next address of 127.0.0.0/8.
inline constexpr std::size_t kAgentsASourceAddress = 20'000;

struct LoadTarget {
  asio::ip::tcp::endpoint endpoint;
  std::string server_name;
  /// Holds <node>.pem and <node>.key of every agent.
  std::filesystem::path certificates;
  /// Trusts the aggregator's CA; the client certificate is each agent's own.
  const TlsContext& tls;
};

/// What the agents share, because they take turns on one thread: an idle agent holds no buffer.
struct LoadScratch {
  std::array<char, std::size_t{16} << 10> received{};
};

enum class Report : std::uint8_t { Same, Changed };

class LoadAgent {
 public:
  /// Both references must outlive the object.
  LoadAgent(std::size_t index, const LoadTarget& target, LoadScratch& scratch)
      : index_(index), target_(target), scratch_(scratch) {}

  /// Until the first report is acknowledged.
  asio::awaitable<Result<void>> connect();
  /// Until the answer. An error ends the connection.
  asio::awaitable<Result<void>> report(Report what);
  asio::awaitable<Result<void>> heartbeat();
  /// At once, as a machine that lost its power.
  void drop() { stream_.reset(); }
  bool is_connected() const { return stream_.has_value(); }

 private:
  asio::awaitable<Result<void>> open(Deadline deadline);
  asio::awaitable<Result<void>> say_hello(Deadline deadline);
  /// Sends `payload` as a frame and waits for an answer that is not a refusal.
  asio::awaitable<Result<void>> ask(std::string payload, Deadline deadline);
  asio::awaitable<Result<void>> answer(Deadline deadline);
  /// Whether an answer was among what has been read.
  Result<bool> take_answers();

  std::size_t index_;
  const LoadTarget& target_;
  LoadScratch& scratch_;
  std::optional<TlsStream> stream_;
  FrameReader frames_;
  std::uint64_t sequence_ = 0;
  bool changed_ = false;
};

}  // namespace gpuskew
