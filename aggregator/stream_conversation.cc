#include "aggregator/stream_conversation.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/arena.h>

#include "aggregator/snapshot_outline.h"
#include "core/label.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/text.h"
#include "runtime/frame.h"

namespace gpuskew {

namespace {

v1::Refusal::Code wire_code(RefusedReason reason) {
  switch (reason) {
    case RefusedReason::Version:
      return v1::Refusal::VERSION;
    case RefusedReason::Identity:
      return v1::Refusal::IDENTITY;
    case RefusedReason::Overloaded:
      return v1::Refusal::OVERLOADED;
    case RefusedReason::Handshake:
    case RefusedReason::Timeout:
    case RefusedReason::Protocol:
      return v1::Refusal::PROTOCOL;
  }
  return v1::Refusal::CODE_UNSPECIFIED;
}

void append_message(const v1::AggregatorMessage& message, std::string& bytes, std::string& out) {
  bytes.clear();
  // Our answers are a few hundred bytes; neither can fail.
  message.AppendToString(&bytes);
  static_cast<void>(append_frame(out, bytes).has_value());
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string identity_error(const std::vector<std::string>& names, std::string_view node) {
  return names.empty()
             ? fmt::format("neither a certificate nor a token names anybody, the agent says it is node {}", node)
             : fmt::format("its certificate or token names {}, the agent says it is node {}",
                           shown_text(fmt::format("{}", fmt::join(names, ", "))), node);
}

}  // namespace

// In a oneof, and in proto3's sub-messages, Clear() frees: an object parsed into again keeps nothing. An arena does:
// its first block serves every message of the usual size.
struct ConversationScratch::Messages {
  static constexpr std::size_t kBlockBytes = std::size_t{32} << 10;

  /// A fresh message; those before it are gone.
  template <class Message>
  Message& fresh() {
    arena.Reset();
    in = nullptr;
    return *google::protobuf::Arena::CreateMessage<Message>(&arena);
  }

  std::string instance;
  std::array<char, kBlockBytes> block{};
  google::protobuf::Arena arena{block.data(), block.size()};
  v1::AgentMessage* in = nullptr;
  v1::AggregatorMessage out;
  std::string bytes;
  FieldMarks marks;
  std::string changed;
};

ConversationScratch::ConversationScratch(std::string instance) : messages_(std::make_unique<Messages>()) {
  messages_->instance = std::move(instance);
}
ConversationScratch::~ConversationScratch() = default;

bool names_node(const std::vector<std::string>& certificate_names, std::string_view node) {
  return std::any_of(certificate_names.begin(), certificate_names.end(),
                     [node](const std::string& name) { return same_name(name, node); });
}

void append_refusal(RefusedReason reason, std::string_view why, std::string& out) {
  v1::AggregatorMessage message;
  message.mutable_refusal()->set_code(wire_code(reason));
  assign_utf8(*message.mutable_refusal()->mutable_reason(), why);
  std::string bytes;
  append_message(message, bytes, out);
}

AgentConversation::AgentConversation(std::vector<std::string> certificate_names, FleetRecorder& recorder,
                                     StreamCounts& counts, ConversationScratch& scratch)
    : certificate_names_(std::move(certificate_names)), recorder_(recorder), counts_(counts), scratch_(scratch) {}

std::string AgentConversation::token_of(std::string_view frame) {
  v1::AgentMessage& message = scratch_.messages_->fresh<v1::AgentMessage>();
  if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size())) || !message.has_hello()) {
    return "";
  }
  return message.hello().token();
}

std::optional<Refused> AgentConversation::take(std::string_view frame, Time now, std::string& out) {
  FieldMarks& marks = scratch_.messages_->marks;
  std::string& changed = scratch_.messages_->changed;
  const std::optional<SnapshotOutline> outline = outline_snapshot(frame, marks);
  Outcome outcome;
  if (outline && !marks_.empty() && marks == marks_) {
    outcome = take_repeated(outline->sequence, now, out);
  } else if (outline && last_record() != nullptr && take_changed_fields(*outline, marks, marks_, changed)) {
    outcome = take_changed(*outline, changed, now, out);
  } else {
    outcome = take_parsed(frame, outline ? std::optional(outline->wire) : std::nullopt, now, out);
  }
  if (outcome) {
    append_refusal(outcome->reason, outcome->why, out);
    if (outcome->node.empty()) {
      outcome->node = node_;
    }
  }
  return outcome;
}

AgentConversation::Outcome AgentConversation::take_repeated(std::uint64_t sequence, Time now, std::string& out) {
  if (Outcome refused = take_sequence(sequence)) {
    return refused;
  }
  ++counts_.reports;
  ++counts_.unchanged_reports;
  recorder_.heard_from(node_, now);
  acknowledge(out);
  return std::nullopt;
}

const NodeRecord* AgentConversation::last_record() const {
  if (marks_.empty()) {
    return nullptr;
  }
  const NodeRecord* record = recorder_.fleet().find(node_);
  return record != nullptr && record->report == report_ ? record : nullptr;
}

AgentConversation::Outcome AgentConversation::take_changed(const SnapshotOutline& outline, std::string_view changed,
                                                           Time now, std::string& out) {
  v1::Snapshot& fields = scratch_.messages_->fresh<v1::Snapshot>();
  if (!fields.ParseFromArray(changed.data(), static_cast<int>(changed.size()))) {
    return Refused{RefusedReason::Protocol, fmt::format("a message of {} bytes does not parse", outline.wire.size()),
                   ""};
  }
  if (Outcome refused = take_sequence(outline.sequence)) {
    return refused;
  }
  Snapshot snapshot = last_record()->snapshot;
  update_from_wire(std::move(fields), snapshot);
  share_facts(
      snapshot,
      [this](int field) {
        const auto hash = hash_of_field(scratch_.messages_->marks, field);
        return hash == hash_of_field(marks_, field) ? std::nullopt : hash;
      },
      recorder_.fact_pool());
  if (Outcome refused = record(std::move(snapshot), outline.wire, now, out)) {
    return refused;
  }
  marks_ = scratch_.messages_->marks;
  return std::nullopt;
}

AgentConversation::Outcome AgentConversation::record(Snapshot snapshot, std::string_view wire, Time now,
                                                     std::string& out) {
  Result<void> taken = recorder_.report(std::move(snapshot), wire, now);
  if (!taken) {
    return Refused{RefusedReason::Overloaded, taken.error().what, ""};
  }
  report_ = recorder_.fleet().find(node_)->report;
  ++counts_.reports;
  acknowledge(out);
  return std::nullopt;
}

AgentConversation::Outcome AgentConversation::take_parsed(std::string_view frame, std::optional<std::string_view> wire,
                                                          Time now, std::string& out) {
  v1::AgentMessage& message = scratch_.messages_->fresh<v1::AgentMessage>();
  scratch_.messages_->in = &message;
  if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
    return Refused{RefusedReason::Protocol, fmt::format("a message of {} bytes does not parse", frame.size()), ""};
  }
  if (node_.empty() && message.message_case() != v1::AgentMessage::kHello) {
    return Refused{RefusedReason::Protocol, "the first message is not a Hello", ""};
  }
  switch (message.message_case()) {
    case v1::AgentMessage::kHello:
      return take_hello(out);
    case v1::AgentMessage::kSnapshot:
      return take_snapshot(wire, now, out);
    case v1::AgentMessage::kHeartbeat:
      return take_heartbeat(now, out);
    case v1::AgentMessage::MESSAGE_NOT_SET:
      // A message of a later version. It says nothing to us but that the agent lives.
      recorder_.heard_from(node_, now);
      return std::nullopt;
  }
  return std::nullopt;
}

AgentConversation::Outcome AgentConversation::take_hello(std::string& out) {
  const v1::Hello& hello = scratch_.messages_->in->hello();
  if (!node_.empty()) {
    return Refused{RefusedReason::Protocol, "a second Hello on one connection", ""};
  }
  std::string shown = shown_text(hello.node(), kMaxQuoted);
  if (!is_dns_subdomain(hello.node())) {
    return Refused{RefusedReason::Protocol, fmt::format("'{}' is no node name (RFC 1123 subdomain)", shown), shown};
  }
  std::uint32_t version = std::min(hello.max_version(), kMaxStreamVersion);
  if (version < kMinStreamVersion || version < hello.min_version()) {
    return Refused{RefusedReason::Version,
                   fmt::format("the agent speaks stream versions {} to {}, this aggregator {} to {}: update the older",
                               hello.min_version(), hello.max_version(), kMinStreamVersion, kMaxStreamVersion),
                   shown};
  }
  if (!names_node(certificate_names_, hello.node())) {
    return Refused{RefusedReason::Identity, identity_error(certificate_names_, shown), shown};
  }
  node_ = hello.node();
  v1::AggregatorMessage& answer = scratch_.messages_->out;
  answer.mutable_welcome()->set_version(version);
  answer.mutable_welcome()->set_aggregator_version(GPUSKEW_VERSION);
  answer.mutable_welcome()->set_instance(scratch_.messages_->instance);
  append_message(answer, scratch_.messages_->bytes, out);
  return std::nullopt;
}

AgentConversation::Outcome AgentConversation::take_snapshot(std::optional<std::string_view> wire, Time now,
                                                            std::string& out) {
  v1::Snapshot& message = *scratch_.messages_->in->mutable_snapshot();
  if (message.node() != node_) {
    std::string shown = shown_text(message.node(), kMaxQuoted);
    std::string why = names_node(certificate_names_, message.node())
                          ? fmt::format("a snapshot of node {} on the connection of node {}", shown, node_)
                          : identity_error(certificate_names_, shown);
    return Refused{RefusedReason::Identity, std::move(why), shown};
  }
  if (Outcome refused = take_sequence(message.sequence())) {
    return refused;
  }
  std::string unusual;
  if (!wire) {
    message.SerializeToString(&unusual);
  }
  Result<Snapshot> snapshot = from_wire(std::move(message));
  if (!snapshot) {
    return Refused{RefusedReason::Protocol, "snapshot: " + snapshot.error().what, ""};
  }
  if (wire) {
    share_facts(
        *snapshot, [this](int field) { return hash_of_field(scratch_.messages_->marks, field); },
        recorder_.fact_pool());
  }
  if (Outcome refused = record(std::move(*snapshot), wire.value_or(unusual), now, out)) {
    return refused;
  }
  marks_.clear();
  if (wire) {
    marks_ = scratch_.messages_->marks;
  }
  return std::nullopt;
}

AgentConversation::Outcome AgentConversation::take_heartbeat(Time now, std::string& out) {
  if (recorder_.fleet().find(node_) == nullptr) {
    return Refused{RefusedReason::Protocol, "a heartbeat before the first snapshot of this node", ""};
  }
  if (Outcome refused = take_sequence(scratch_.messages_->in->heartbeat().sequence())) {
    return refused;
  }
  ++counts_.heartbeats;
  recorder_.heard_from(node_, now);
  acknowledge(out);
  return std::nullopt;
}

AgentConversation::Outcome AgentConversation::take_sequence(std::uint64_t sequence) {
  if (sequence <= sequence_) {
    return Refused{RefusedReason::Protocol,
                   fmt::format("message {} after message {}: sequence numbers count up", sequence, sequence_), ""};
  }
  sequence_ = sequence;
  return std::nullopt;
}

void AgentConversation::acknowledge(std::string& out) {
  v1::AggregatorMessage& answer = scratch_.messages_->out;
  answer.mutable_ack()->set_sequence(sequence_);
  append_message(answer, scratch_.messages_->bytes, out);
}

}  // namespace gpuskew
