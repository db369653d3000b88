#pragma once

// Most reports say what the last one said. This looks at a frame without decoding it: everything but the sequence
// number and the time, as bytes that can be compared with the last report's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuskew {

struct SnapshotOutline {
  std::uint64_t sequence = 0;
  /// The gpuskew.v1.Snapshot in the frame; a view into it.
  std::string_view wire;
};

/// nullopt: the AgentMessage is not one plainly encoded snapshot (another message, a broken or unusual encoding); only
/// the parser can tell. Otherwise `facts` (overwritten, its memory kept) holds the snapshot's other fields, unknown
/// ones included. Their insides are not checked: only equality with bytes that were parsed makes them good.
std::optional<SnapshotOutline> outline_snapshot(std::string_view frame, std::string& facts);

}  // namespace gpuskew
