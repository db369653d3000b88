#include "aggregator/snapshot_outline.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace gpuskew {

namespace {

// gpuskew/v1/agent.proto: AgentMessage.snapshot, Snapshot.sequence, Snapshot.node, Snapshot.taken_unix_ms.
constexpr std::uint64_t kSnapshotField = 2;
constexpr std::uint64_t kSequenceField = 1;
constexpr std::uint64_t kNodeField = 2;
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

constexpr std::uint64_t kSequenceTag = kSequenceField << kTypeBits | kVarint;
constexpr std::uint64_t kNodeTag = kNodeField << kTypeBits | kBytes;
constexpr std::uint64_t kTakenTag = kTakenField << kTypeBits | kVarint;

struct Field {
  std::uint64_t tag = 0;
  std::string_view bytes;  ///< tag included
};

/// Cuts one field off the front of `wire`.
std::optional<Field> take_field(std::string_view& wire) {
  const std::string_view start = wire;
  const std::optional<std::uint64_t> tag = take_varint(wire);
  if (!tag || *tag > std::numeric_limits<std::uint32_t>::max() || !skip_value(wire, *tag & 7u)) {
    return std::nullopt;
  }
  return Field{*tag, start.substr(0, start.size() - wire.size())};
}

FieldMark mark_of(const Field& field) {
  return {static_cast<std::uint32_t>(field.tag), static_cast<std::uint32_t>(field.bytes.size()),
          std::hash<std::string_view>{}(field.bytes)};
}

}  // namespace

std::optional<SnapshotOutline> outline_snapshot(std::string_view frame, FieldMarks& marks) {
  marks.clear();
  if (take_varint(frame) != (kSnapshotField << kTypeBits | kBytes)) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> size = take_varint(frame);
  if (size != frame.size()) {
    return std::nullopt;
  }
  return outline_of_snapshot(frame, marks);
}

std::optional<SnapshotOutline> outline_of_snapshot(std::string_view wire, FieldMarks& marks) {
  marks.clear();
  SnapshotOutline outline;
  outline.wire = wire;
  while (!wire.empty()) {
    const std::optional<Field> field = take_field(wire);
    if (!field || marks.size() == kMaxFields) {
      return std::nullopt;
    }
    if (field->tag == kSequenceTag) {
      std::string_view bytes = field->bytes;
      take_varint(bytes);
      outline.sequence = *take_varint(bytes);
    } else if (field->tag != kTakenTag) {
      marks.push_back(mark_of(*field));
    }
  }
  return outline;
}

std::optional<std::uint64_t> hash_of_field(const FieldMarks& marks, int field) {
  const std::uint32_t tag = static_cast<std::uint32_t>(field) << kTypeBits | kBytes;
  const auto found = std::lower_bound(marks.begin(), marks.end(), tag,
                                      [](const FieldMark& mark, std::uint32_t wanted) { return mark.tag < wanted; });
  return found == marks.end() || found->tag != tag ? std::nullopt : std::optional(found->hash);
}

bool take_changed_fields(const SnapshotOutline& outline, const FieldMarks& marks, const FieldMarks& before,
                         std::string& changed) {
  changed.clear();
  if (marks.size() != before.size()) {
    return false;
  }
  std::string_view wire = outline.wire;
  std::size_t at = 0;
  std::uint32_t last = 0;
  while (const std::optional<Field> field = take_field(wire)) {
    if (field->tag == kSequenceTag) {
      continue;
    }
    if (field->tag == kTakenTag) {
      changed += field->bytes;
      continue;
    }
    const FieldMark& mark = marks[at];
    const bool is_equal = mark == before[at];
    // Ascending, as protobuf writes them, so that each is there once: a second one would be merged into the first.
    if (mark.tag != before[at].tag || mark.tag <= last || (!is_equal && mark.tag == kNodeTag)) {
      return false;
    }
    if (!is_equal) {
      changed += field->bytes;
    }
    last = mark.tag;
    ++at;
  }
  return true;
}

}  // namespace gpuskew
