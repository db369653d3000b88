#pragma once

// Wire <-> core. Generated types stop here: nothing in agent or aggregator but the stream code sees them.
//
// From the wire every value is checked again (the peer may be of another version, or hostile): a value that does not
// parse becomes an unknown fact that says so, and only what makes the whole message useless is an error.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/fact_pool.h"
#include "core/result.h"
#include "core/snapshot.h"

namespace gpuskew::v1 {
class Snapshot;
class LastGood;
}  // namespace gpuskew::v1

namespace gpuskew {

/// Writes every field of `to` but the sequence number. Bytes that are not UTF-8 are written as '?'. A message that is
/// written again keeps its memory: reuse one.
void to_wire(const Snapshot& from, v1::Snapshot& to);
/// Errors: Malformed (no valid node name).
/// Values past kMaxWireText (proto/text.h), of a wrong form or with control characters become unknown; texts for people
/// (sources, reasons, notes) are cut and their control characters replaced. A list with one bad item, with a word of an
/// enumeration that is not known here or with more items than core allows is unknown as a whole: a shorter one would be
/// a wrong count. taken_at is moved into the years 1970 to 9999. A bad `remembered` is nothing remembered.
/// The second form takes the message's texts out of it, also on an error: half the cost.
Result<Snapshot> from_wire(const v1::Snapshot& from);
Result<Snapshot> from_wire(v1::Snapshot&& from);

/// Replaces in `to` what `changed` holds: facts, the agent's version, what it remembers and expects; and the time. What
/// `changed` does not hold stays, the node's name in any case.
void update_from_wire(v1::Snapshot&& changed, Snapshot& to);

/// The hash of a field of a v1.Snapshot as it came, by the field's number; nullopt: leave that fact alone.
using FieldHash = std::function<std::optional<std::uint64_t>(int field)>;
/// Lets the facts that are the same on many nodes share one value in `pool`; not those that are each node's own (boot,
/// processes, kernel log).
void share_facts(Snapshot& snapshot, const FieldHash& hash_of, FactPool& pool);

void to_wire(const LastGood& from, v1::LastGood& to);
/// Errors: Malformed or TooLarge, naming the field.
Result<LastGood> from_wire(const v1::LastGood& from);

/// LastGood as bytes, for the agent's state file and the aggregator's database.
std::string encode(const LastGood& value);
Result<LastGood> decode_last_good(std::string_view bytes);

}  // namespace gpuskew
