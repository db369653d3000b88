#include "aggregator/history_restore.h"

#include <string>
#include <utility>

#include "aggregator/snapshot_outline.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "runtime/log.h"

namespace gpuskew {

namespace {

Result<Snapshot> decode_snapshot(std::string_view wire, v1::Snapshot& message, FactPool& pool) {
  if (!message.ParseFromArray(wire.data(), static_cast<int>(wire.size()))) {
    return fail(ErrorCode::Malformed, "not a Snapshot message");
  }
  Result<Snapshot> snapshot = from_wire(std::move(message));
  FieldMarks marks;
  if (snapshot && outline_of_snapshot(wire, marks)) {
    share_facts(
        *snapshot, [&marks](int field) { return hash_of_field(marks, field); }, pool);
  }
  return snapshot;
}

}  // namespace

Result<std::size_t> restore_fleet(HistoryStore& store, Fleet& fleet, const Log& log, Time oldest, Time now) {
  const Result<std::int64_t> forgotten = store.forget_nodes(oldest);
  if (!forgotten) {
    return tl::unexpected(forgotten.error());
  }
  if (*forgotten > 0) {
    log.info("nodes forgotten, they were silent for longer than history.retention", {{"nodes", *forgotten}});
  }
  v1::Snapshot message;
  std::size_t restored = 0;
  Result<void> read = store.for_each_node([&](std::string name, StoredNode stored) {
    NodeRecord record;
    Result<Snapshot> snapshot = decode_snapshot(stored.snapshot_wire.value_or(""), message, fleet.fact_pool());
    if (snapshot) {
      record.snapshot = std::move(*snapshot);
    } else {
      log.warning("stored report does not read; ignoring it until the node reports again",
                  {{"node", name}, {"why", snapshot.error().what}});
    }
    record.snapshot.node = std::move(name);
    record.history = std::move(stored.history);
    record.first_seen = stored.first_seen;
    record.last_heard = stored.last_heard;
    fleet.restore(std::move(record), now);
    ++restored;
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  return restored;
}

}  // namespace gpuskew
