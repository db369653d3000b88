#pragma once

// The aggregator's side of one agent's stream, without sockets: frames in, frames out. What a frame means, whether the
// agent may say it, and what it does to the fleet.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/fleet_recorder.h"
#include "aggregator/snapshot_outline.h"
#include "aggregator/stream_counts.h"
#include "core/time.h"

namespace gpuskew {

/// Stream versions this aggregator speaks, inclusive.
inline constexpr std::uint32_t kMinStreamVersion = 1;
inline constexpr std::uint32_t kMaxStreamVersion = 1;

/// Why a connection is closed.
struct Refused {
  RefusedReason reason{};
  std::string why;
  std::string node;  ///< as the agent named itself; "" when it had not yet
};

/// What all conversations of a process share: its name, and memory: messages are parsed into the same objects again and
/// again.
class ConversationScratch {
 public:
  /// `instance` goes into every Welcome: agents tell by it which addresses are one aggregator's.
  explicit ConversationScratch(std::string instance);
  ~ConversationScratch();
  ConversationScratch(const ConversationScratch&) = delete;
  ConversationScratch& operator=(const ConversationScratch&) = delete;

 private:
  friend class AgentConversation;
  struct Messages;
  std::unique_ptr<Messages> messages_;
};

class AgentConversation {
 public:
  /// `certificate_names`: whom the peer's verified certificate names; empty where it showed none, and then prove()
  /// tells whose token it is. References must outlive the object.
  AgentConversation(std::vector<std::string> certificate_names, FleetRecorder& recorder, StreamCounts& counts,
                    ConversationScratch& scratch);

  /// Takes one frame's payload and appends the answers, framed, to `out`; they may be sent once what the frame changed
  /// is stored. A returned Refused ends the conversation: its answer is in `out`, too.
  std::optional<Refused> take(std::string_view frame, Time now, std::string& out);

  /// The token in a frame that is a Hello with one, to be checked before the frame is taken; "" otherwise.
  std::string token_of(std::string_view frame);
  /// Whom the token was found to speak for.
  void prove(std::string node) { certificate_names_ = {std::move(node)}; }

  /// "" until the Hello was taken.
  const std::string& node() const { return node_; }
  const std::vector<std::string>& certificate_names() const { return certificate_names_; }

 private:
  using Outcome = std::optional<Refused>;
  Outcome take_repeated(std::uint64_t sequence, Time now, std::string& out);
  /// Decodes only the fields that are not the last report's; `changed` holds those.
  Outcome take_changed(const SnapshotOutline& outline, std::string_view changed, Time now, std::string& out);
  /// The record that the last snapshot of this conversation made, while it is still the node's latest.
  const NodeRecord* last_record() const;
  Outcome record(Snapshot snapshot, std::string_view wire, Time now, std::string& out);
  Outcome take_parsed(std::string_view frame, std::optional<std::string_view> wire, Time now, std::string& out);
  Outcome take_hello(std::string& out);
  Outcome take_snapshot(std::optional<std::string_view> wire, Time now, std::string& out);
  Outcome take_heartbeat(Time now, std::string& out);
  Outcome take_sequence(std::uint64_t sequence);
  void acknowledge(std::string& out);

  std::vector<std::string> certificate_names_;
  FleetRecorder& recorder_;
  StreamCounts& counts_;
  ConversationScratch& scratch_;
  std::string node_;
  std::uint64_t sequence_ = 0;
  FieldMarks marks_;          ///< of the last snapshot taken; empty when none was, or when it was no plain one
  std::uint64_t report_ = 0;  ///< which of the node's reports that was (NodeRecord::report)
};

/// Whether a certificate with these names may speak for `node`: ASCII letters compare without regard to case.
bool names_node(const std::vector<std::string>& certificate_names, std::string_view node);

/// Appends the answer a peer gets that is refused before it can hold a conversation.
void append_refusal(RefusedReason reason, std::string_view why, std::string& out);

}  // namespace gpuskew
