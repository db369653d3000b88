#pragma once

// Agents' connections: TLS, deadlines, one connection a node, refusals in the log and in the counts. What is said on a
// connection is stream_conversation's business.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "aggregator/commit_turn.h"
#include "aggregator/fleet_recorder.h"
#include "aggregator/handshake_gate.h"
#include "aggregator/stream_conversation.h"
#include "aggregator/stream_counts.h"
#include "aggregator/stream_log.h"
#include "core/time.h"
#include "runtime/frame.h"
#include "runtime/tls.h"
#include "runtime/tls_stream.h"

namespace gpuskew {

class Log;

struct IngestLimits {
  /// From its turn on: in a storm of 50,000 reconnects the last ones wait for theirs longer than they care to.
  Duration handshake = std::chrono::seconds(10);
  Duration hello = std::chrono::seconds(10);
  /// Three heartbeats of the agent's default interval.
  Duration idle = std::chrono::seconds(90);
  /// For an answer that the peer does not take.
  Duration write = std::chrono::seconds(10);
};

/// The node that a token's pod runs on. Errors: Denied (the token is no good, or not an agent's), anything else: nobody
/// could be asked.
using NodeOfToken = std::function<asio::awaitable<Result<std::string>>(std::string token)>;

class Ingest {
 public:
  /// References must outlive the object, and it every connection.
  Ingest(const Log& log, const TlsContext& tls, FleetRecorder& recorder, CommitTurn& commits, IngestLimits limits = {});

  /// From now on agents without a certificate are taken by their token. `tls` must let them in.
  void accept_tokens(NodeOfToken node_of_token) { node_of_token_ = std::move(node_of_token); }

  /// One agent's connection, from the handshake to the end: a Listener's handler.
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);

  const StreamCounts& counts() const { return counts_; }

 private:
  struct Session;

  /// Waits for the connection's turn and shakes hands; null when that failed, which is then logged and counted.
  asio::awaitable<std::unique_ptr<Session>> admit(asio::ip::tcp::socket socket);
  asio::awaitable<void> converse(Session& session);
  /// Takes what has arrived; the answers go to `out`. false: nothing more is there now, or the session is over.
  bool read_frames(Session& session, std::string& out);
  void take_frames(Session& session, std::string& out);
  void take(Session& session, std::string_view frame, std::string& out);
  /// Whether this frame waits until its token was checked.
  bool must_prove(Session& session, std::string_view frame);
  /// Checks the token of a Hello that waits, and takes it.
  asio::awaitable<std::string> prove(Session& session);
  /// Gives the session its node's place, from an older connection where there is one.
  void settle(Session& session);
  void end(Session& session, const Error& why, std::string_view when_late);
  void refuse(Session& session, const Refused& refused);
  void refuse_stranger(RefusedReason reason, const std::string& why, const std::string& peer,
                       const std::vector<std::string>& certificate_names);

  const Log& log_;
  const TlsContext& tls_;
  FleetRecorder& recorder_;
  CommitTurn& commits_;
  IngestLimits limits_;
  NodeOfToken node_of_token_;
  StreamCounts counts_;
  ConversationScratch scratch_;
  HandshakeGate handshakes_;
  StreamLog stream_log_;
  /// Who holds the stream of each node.
  std::map<std::string, Session*, std::less<>> holders_;
  /// Every connection reads into this one, and is done with it before anything waits: an idle one has no buffer.
  std::array<char, std::size_t{16} << 10> buffer_{};
};

}  // namespace gpuskew
