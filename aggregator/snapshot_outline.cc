#include "aggregator/snapshot_outline.h"

namespace gpuskew {

namespace {

// gpuskew/v1/agent.proto: AgentMessage.snapshot, Snapshot.sequence, Snapshot.taken_unix_ms.
constexpr std::uint64_t kSnapshotField = 2;
constexpr std::uint64_t kSequenceField = 1;
constexpr std::uint64_t kTakenField = 4;

// Protobuf's wire types; groups (3, 4) have not been written for a decade.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kFixed64 = 1;
constexpr std::uint64_t kBytes = 2;
constexpr std::uint64_t kFixed32 = 5;

constexpr unsigned kTypeBits = 3;
constexpr std::size_t kMaxVarintBytes = 10;

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < kMaxVarintBytes; ++i) {
    auto byte = static_cast<std::uint8_t>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7fu) << (7 * i);
    if (byte < 0x80u) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

bool skip(std::string_view& bytes, std::uint64_t size) {
  if (size > bytes.size()) {
    return false;
  }
  bytes.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

// Behind the tag of a field that is only passed over.
bool skip_value(std::string_view& bytes, std::uint64_t type) {
  switch (type) {
    case kVarint:
      return take_varint(bytes).has_value();
    case kFixed64:
      return skip(bytes, 8);
    case kFixed32:
      return skip(bytes, 4);
    case kBytes: {
      std::optional<std::uint64_t> size = take_varint(bytes);
      return size && skip(bytes, *size);
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<SnapshotOutline> outline_snapshot(std::string_view frame, std::string& facts) {
  facts.clear();
  std::optional<std::uint64_t> tag = take_varint(frame);
  if (tag != (kSnapshotField << kTypeBits | kBytes)) {
    return std::nullopt;
  }
  std::optional<std::uint64_t> size = take_varint(frame);
  if (size != frame.size()) {
    return std::nullopt;
  }
  SnapshotOutline outline;
  outline.wire = frame;
  while (!frame.empty()) {
    std::string_view field = frame;
    tag = take_varint(frame);
    if (tag == (kSequenceField << kTypeBits | kVarint)) {
      std::optional<std::uint64_t> sequence = take_varint(frame);
      if (!sequence) {
        return std::nullopt;
      }
      outline.sequence = *sequence;
      continue;
    }
    if (!tag || !skip_value(frame, *tag & 7u)) {
      return std::nullopt;
    }
    if (*tag != (kTakenField << kTypeBits | kVarint)) {
      facts.append(field.substr(0, field.size() - frame.size()));
    }
  }
  return outline;
}

}  // namespace gpuskew
