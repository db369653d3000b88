#pragma once

// What must outlive the aggregator: each node's last report and verdict, and its transitions. SQLite, write-ahead log,
// synchronous NORMAL: a committed batch survives kill -9 of this process; a power cut may take the last moments.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aggregator/file_lock.h"
#include "aggregator/sqlite.h"
#include "core/fleet.h"
#include "core/judge.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

/// One node as it is stored.
struct StoredNode {
  /// gpuskew.v1.Snapshot as it came, fields of later versions included. nullopt in a write: leave what is stored.
  std::optional<std::string> snapshot_wire;
  NodeHistory history;
  Time first_seen{};
  Time last_heard{};

  bool operator==(const StoredNode&) const = default;
};

/// What a heartbeat moves.
struct Heard {
  Time at{};
  std::optional<Time> good_at;  ///< NodeHistory::last_good's
};

Heard heard_of(Time last_heard, const NodeHistory& history);

/// What one transaction writes.
struct HistoryBatch {
  std::map<std::string, StoredNode, std::less<>> nodes;
  std::vector<Transition> transitions;
  std::map<std::string, Heard, std::less<>> heard;

  bool empty() const { return nodes.empty() && transitions.empty() && heard.empty(); }
};

class HistoryStore {
 public:
  /// The newest transitions kept of one node, however young: a node that flaps can not fill the disk.
  static constexpr std::int64_t kMaxTransitionsPerNode = 10'000;
  /// A node is trimmed to that after this many more.
  static constexpr std::int64_t kTrimEvery = 500;
  /// Rows one prune may delete: the event loop waits for it.
  static constexpr std::int64_t kPruneRows = 500;

  /// Opens or creates, migrates, and locks it against a second aggregator. A file that is refused (corrupt, of a newer
  /// schema, of another program) is left as it was. Errors: Malformed, Unsupported, Denied, Timeout (in use).
  static Result<HistoryStore> open(const std::filesystem::path& path);
  /// Would open() work, now or once the aggregator that uses it has ended? Creates and changes nothing.
  static Result<void> check(const std::filesystem::path& path);

  /// One transaction: all of it or nothing.
  Result<void> write(const HistoryBatch& batch);

  /// Every node, by name. Errors: Malformed naming the node whose row does not read.
  Result<void> for_each_node(const std::function<void(std::string name, StoredNode node)>& take);

  /// The newest `limit` transitions of a node, newest first.
  Result<std::vector<Transition>> history(std::string_view node, std::size_t limit);

  /// Deletes at most kPruneRows transitions from before `cutoff`; returns how many, so call again while it is that.
  Result<std::int64_t> prune(Time cutoff);
  /// Forgets nodes whose last word is from before `cutoff`; returns how many.
  Result<std::int64_t> forget_nodes(Time cutoff);

 private:
  struct Statements {
    Statement put_node;
    Statement put_history;
    Statement put_heard;
    Statement put_transition;
    Statement trim;
    Statement history;
    Statement prune;
  };
  HistoryStore(FileLock lock, Database database, Statements statements)
      : lock_(std::move(lock)), database_(std::move(database)), statements_(std::move(statements)) {}
  static Result<Statements> prepare(Database& database);
  Result<void> write_node(const std::string& name, const StoredNode& node);
  Result<void> write_heard(const std::string& name, const Heard& heard);
  Result<void> write_transition(const Transition& transition);

  FileLock lock_;
  Database database_;
  Statements statements_;
  /// Transitions of a node since it was last trimmed.
  std::unordered_map<std::string, std::int64_t> untrimmed_;
};

}  // namespace gpuskew
