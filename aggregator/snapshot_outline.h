#pragma once

// Most reports say what the last one said, and most others differ from it in a fact or two. This looks at a frame
// without decoding it, and tells which of its fields are the last report's.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuskew {

/// A field of a snapshot by what is in it. Two fields of one node with equal marks are taken to be equal: two texts
/// that differ have one hash once in 2^64, and an agent that sought such a pair would deceive nobody but its own node.
struct FieldMark {
  std::uint32_t tag = 0;
  std::uint32_t size = 0;
  std::uint64_t hash = 0;

  bool operator==(const FieldMark&) const = default;
};

/// Far more fields than a snapshot has. A message with more is left to the parser: what is kept of an agent stays
/// small.
inline constexpr std::size_t kMaxFields = 128;

/// All of a snapshot's fields but the sequence number and the time, in the order of the message.
using FieldMarks = std::vector<FieldMark>;

struct SnapshotOutline {
  std::uint64_t sequence = 0;
  /// The gpuskew.v1.Snapshot in the frame; a view into it.
  std::string_view wire;
};

/// nullopt: the AgentMessage is not one plainly encoded snapshot (another message, a broken or unusual encoding); only
/// the parser can tell. Otherwise `marks` (overwritten, its memory kept) has the snapshot's fields, unknown ones
/// included. Their insides are not checked: only equality with a field that was parsed makes them good.
std::optional<SnapshotOutline> outline_snapshot(std::string_view frame, FieldMarks& marks);

/// The same of a gpuskew.v1.Snapshot alone.
std::optional<SnapshotOutline> outline_of_snapshot(std::string_view wire, FieldMarks& marks);

/// The hash of the field with this number, of a message or a text; nullopt when there is none.
std::optional<std::uint64_t> hash_of_field(const FieldMarks& marks, int field);

/// The fields of `outline` whose mark is not in `before`, and the time, as the bytes of a snapshot, in `changed`
/// (overwritten). `marks` are the outline's own. false: the message has other fields than the one before, or is another
/// node's; then it has to be read whole.
bool take_changed_fields(const SnapshotOutline& outline, const FieldMarks& marks, const FieldMarks& before,
                         std::string& changed);

}  // namespace gpuskew
