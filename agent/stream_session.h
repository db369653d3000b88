#pragma once

// One connection to the aggregator: resolve, TCP, mutual TLS 1.3, Hello, Welcome, then snapshots and heartbeats, one at
// a time, each acknowledged. What to do when it ends is stream.h's.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "core/result.h"
#include "core/snapshot.h"
#include "core/time.h"
#include "runtime/backoff.h"
#include "runtime/frame.h"
#include "runtime/resolve.h"
#include "runtime/tls.h"
#include "runtime/tls_stream.h"

namespace gpuskew {

namespace v1 {
class AgentMessage;
class AggregatorMessage;
}  // namespace v1

/// Versions of the stream (proto/gpuskew/v1/agent.proto) this agent speaks, inclusive.
inline constexpr std::uint32_t kMinStreamVersion = 1;
inline constexpr std::uint32_t kMaxStreamVersion = 1;

struct StreamLimits {
  /// From the look-up of the name to the Welcome.
  Duration connect = std::chrono::seconds(10);
  /// From a message to its acknowledgement; past it the connection is given up.
  Duration ack = std::chrono::seconds(30);
  BackoffLimits backoff;
};

struct StreamOptions {
  HostPort address;
  std::string server_name;             ///< what the aggregator's certificate must name
  TlsFiles tls;                        ///< read again for each connection
  std::filesystem::path token_file{};  ///< the same; "": `tls` has a certificate
  Duration heartbeat = std::chrono::seconds(30);
  StreamLimits limits;
};

/// The newest snapshot, and a bell for the one coroutine that waits for something to change. An older snapshot that was
/// not sent yet is forgotten: a slow aggregator never makes a queue.
class Outbox {
 public:
  explicit Outbox(const asio::any_io_executor& executor) : bell_(executor) {}

  void offer(std::shared_ptr<const Snapshot> snapshot);
  /// nullptr before the first offer.
  const std::shared_ptr<const Snapshot>& newest() const { return newest_; }

  /// Ends at the next ring() or offer(), or at `until`; also earlier: look again at what is waited for.
  asio::awaitable<void> wait(Deadline until);
  void ring() { bell_.cancel(); }

 private:
  asio::steady_timer bell_;
  std::shared_ptr<const Snapshot> newest_;
};

class StreamSession {
 public:
  /// Up to the Welcome, for `first`'s node. Errors: of the look-up, the connection and the certificates; Timeout; a
  /// Refusal as Denied (identity), Unsupported (version), Malformed (protocol) or Unreachable (no room).
  static asio::awaitable<Result<std::shared_ptr<StreamSession>>> open(StreamOptions options,
                                                                      std::shared_ptr<const Snapshot> first);

  /// Sends outbox.newest() now and whenever it changes, heartbeats otherwise. Ends well when `finished`, asked after
  /// each acknowledged snapshot (true) and each ring of the outbox (false), says so; else with what broke the
  /// connection. `outbox` must outlive it.
  asio::awaitable<Result<void>> exchange(Outbox& outbox, std::function<bool(bool acknowledged)> finished);

  /// With close_notify, so that the aggregator does not take it for a crash.
  asio::awaitable<void> close();

  std::uint32_t version() const { return version_; }
  const std::string& aggregator_version() const { return aggregator_version_; }
  /// Which run of the aggregator this is; "" where it does not say.
  const std::string& instance() const { return instance_; }
  const std::string& peer_address() const { return stream_.peer_address(); }

 private:
  StreamSession(TlsStream stream, StreamOptions options) : stream_(std::move(stream)), options_(std::move(options)) {}

  asio::awaitable<Result<void>> greet(std::shared_ptr<const Snapshot> first, std::string token, Deadline deadline);
  asio::awaitable<Result<void>> send(const v1::AgentMessage& message, Deadline deadline);
  asio::awaitable<Result<v1::AggregatorMessage>> receive(Deadline deadline);
  asio::awaitable<Result<void>> read_loop(Outbox& outbox);
  asio::awaitable<Result<void>> write_loop(Outbox& outbox, std::function<bool(bool acknowledged)> finished);
  asio::awaitable<Result<void>> send_next(Outbox& outbox);

  TlsStream stream_;
  StreamOptions options_;
  FrameReader frames_;
  std::array<char, 2048> received_{};
  std::uint32_t version_ = 0;
  std::string aggregator_version_;
  std::string instance_;

  std::uint64_t sent_sequence_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::shared_ptr<const Snapshot> sent_;  ///< the snapshot last sent
  bool snapshot_in_flight_ = false;       ///< the message without an acknowledgement is a snapshot
  Deadline acknowledge_by_ = kNoDeadline;
};

}  // namespace gpuskew
