#pragma once

// Every node's latest facts, history and verdict; what changed when something was reported or time passed.
// Pure bookkeeping: the caller stores the transitions and the records they touch.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fact_pool.h"
#include "core/judge.h"
#include "core/matrix.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

enum class TransitionKind : std::uint8_t {
  NodeSeen,  ///< first report of a node
  Boot,      ///< another boot id
  KernelChanged,
  DriverChanged,  ///< the loaded module: version, or "" for none
  GpusChanged,    ///< the number of GPUs
  StateChanged,
  FindingOpened,
  FindingResolved,
};
std::string_view to_string(TransitionKind kind);
std::optional<TransitionKind> transition_kind_from(std::string_view text);

/// One line of a node's history: `from` and `to` are what a person reads ("5.15.0-119-generic"), or "unknown".
struct Transition {
  std::string node;
  Time at{};
  TransitionKind kind{};
  std::string from;
  std::string to;
  std::string detail;

  bool operator==(const Transition&) const = default;
};

struct NodeRecord {
  Snapshot snapshot;
  NodeHistory history;
  Verdict verdict;
  Time first_seen{};
  Time last_heard{};
  std::uint64_t report = 0;  ///< how many reports made it what it is, since this process began

  /// False: no agent spoke for it; only Fleet::put_unheard() did.
  bool was_heard() const { return last_heard != Time{}; }

  // Fleet's own bookkeeping; leave as it is when restoring.
  bool judged = false;              ///< `verdict` is real: a change of it is a transition
  std::optional<Time> scheduled{};  ///< where this node stands in the queue of revisits
};

class Fleet {
 public:
  /// A fleet larger than this refuses new nodes (TooLarge); known nodes go on.
  static constexpr std::size_t kMaxNodes = 100'000;

  explicit Fleet(JudgePolicy policy) : policy_(std::move(policy)) {}

  /// Takes a report from `snapshot.node` and judges that node.
  Result<std::vector<Transition>> apply(Snapshot snapshot, Time now);

  /// Any other word from the node's agent. Unknown names are ignored.
  void heard_from(std::string_view node, Time now);

  /// Judges again every node whose verdict may have changed by time alone.
  std::vector<Transition> tick(Time now);
  /// When tick has something to do next; nullopt: never.
  std::optional<Time> next_tick() const;

  /// A new policy or matrix: judges every node again. nullptr: no matrix.
  std::vector<Transition> set_rules(JudgePolicy policy, std::shared_ptr<const Matrix> matrix, Time now);

  /// Puts back what was stored, without transitions; the verdict is judged on the next tick. Silence counts from
  /// `now` at the earliest: the agents could not be heard while nobody listened.
  void restore(NodeRecord record, Time now);

  /// How many verdicts were given so far: the same number, the same verdicts.
  std::uint64_t verdicts_given() const { return verdicts_given_; }

  /// A node that no agent has reported, as the caller knows of it: shown, and not judged. Nothing for one that was
  /// heard, or past kMaxNodes.
  void put_unheard(Snapshot snapshot, Verdict verdict);
  /// Drops a node; it begins anew when it reports again.
  void forget(std::string_view node);

  const NodeRecord* find(std::string_view node) const;
  const std::map<std::string, NodeRecord, std::less<>>& nodes() const { return nodes_; }
  /// For the facts of the snapshots that are given to this fleet.
  FactPool& fact_pool() { return fact_pool_; }
  const JudgePolicy& policy() const { return policy_; }
  const Matrix* matrix() const { return matrix_.get(); }

 private:
  void judge_node(NodeRecord& record, Time now, std::vector<Transition>& out);
  void schedule(NodeRecord& record);
  void queue(NodeRecord& record, Time at);

  JudgePolicy policy_;
  std::shared_ptr<const Matrix> matrix_;
  FactPool fact_pool_;
  std::map<std::string, NodeRecord, std::less<>> nodes_;
  std::set<std::pair<Time, std::string>> revisits_;
  Time listening_since_{};
  std::uint64_t verdicts_given_ = 0;
};

}  // namespace gpuskew
