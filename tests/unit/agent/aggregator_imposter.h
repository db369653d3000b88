#pragma once

// A real TLS server on 127.0.0.1 that plays the aggregator as a test tells it to, also badly.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "gpuskew/v1/agent.pb.h"
#include "runtime/frame.h"
#include "runtime/tls.h"
#include "runtime/tls_stream.h"

namespace gpuskew {

/// One connection, after its handshake. Calls throw std::runtime_error when the connection fails.
class ImposterPeer {
 public:
  explicit ImposterPeer(TlsStream stream) : stream_(std::move(stream)) {}

  /// nullopt when the agent closed in an orderly way.
  asio::awaitable<std::optional<v1::AgentMessage>> receive();
  asio::awaitable<void> send(v1::AggregatorMessage message);
  asio::awaitable<void> send_bytes(std::string bytes);

  /// Reads the Hello and answers Welcome.
  asio::awaitable<v1::Hello> welcome(std::uint32_t version = 1, std::string instance = {});
  /// Reads a message and acknowledges it.
  asio::awaitable<v1::AgentMessage> take();
  asio::awaitable<void> acknowledge(std::uint64_t sequence);
  asio::awaitable<void> refuse(v1::Refusal::Code code, std::string reason);

  void cut() { stream_.close(); }

 private:
  TlsStream stream_;
  FrameReader frames_;
  std::array<char, 4096> received_{};
};

class AggregatorImposter {
 public:
  /// Plays one connection; when it ends, the connection is cut.
  using Script = std::function<asio::awaitable<void>(std::shared_ptr<ImposterPeer> peer)>;

  /// Port 0: any. Throws when it can not listen.
  AggregatorImposter(asio::io_context& io, const TlsFiles& files, Script script, std::uint16_t port = 0,
                     const char* host = "127.0.0.1");
  /// Stops listening and cuts every connection.
  ~AggregatorImposter();
  AggregatorImposter(const AggregatorImposter&) = delete;
  AggregatorImposter& operator=(const AggregatorImposter&) = delete;

  std::uint16_t port() const;
  /// TCP connections accepted so far.
  std::size_t connections() const;
  /// Why handshakes and scripts ended early.
  const std::vector<std::string>& problems() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpuskew
