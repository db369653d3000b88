#pragma once

// Carries out what core/acting.h plans: conditions, Events and taints on the cluster's nodes. The leader alone does; in
// a dry run nothing is written, and what would be is logged.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>
#include <nlohmann/json_fwd.hpp>

#include "aggregator/acting_figures.h"
#include "aggregator/kube/leader_lease.h"
#include "aggregator/kube/node_watch.h"
#include "core/acting.h"
#include "core/fleet.h"
#include "core/result.h"
#include "core/time.h"
#include "runtime/kube/client.h"

namespace gpuskew {

class Log;

/// Verdicts and nodes are looked at this often when either changed.
inline constexpr Duration kActingPulse = std::chrono::seconds(1);
/// And this often although nothing changed.
inline constexpr Duration kActingResync = std::chrono::minutes(5);
/// After a write that failed, before the next try.
inline constexpr Duration kActingRetry = std::chrono::seconds(10);
/// Between two writes: at most 20 a second.
inline constexpr Duration kActingPace = std::chrono::milliseconds(50);
/// Then it is planned anew: a verdict may have changed meanwhile.
inline constexpr std::size_t kMaxActionsInARound = 100;
/// For one action, with its Event and its retries; less where leadership ends earlier.
inline constexpr Duration kActionTimeout = std::chrono::seconds(5);
/// A taint is tried this often when the node is changed by others at the same time.
inline constexpr int kMaxTaintTries = 5;

class Acting {
 public:
  /// All must outlive the object. `lease` is nullptr in a dry run, and only then.
  Acting(asio::any_io_executor executor, KubeClient& client, const Fleet& fleet, NodeWatch& nodes,
         const LeaderLease* lease, ActingPolicy policy, const Log& log);

  /// Until stop(); the action that is on its way is brought to its end.
  asio::awaitable<Result<void>> run();
  void stop();

  /// The members that acting knows of.
  void add_to(ReplicaFigures& figures) const;

 private:
  enum class Outcome : std::uint8_t {
    Done,
    Later,   ///< of this node alone: the next round tries again
    Refused  ///< of the server or of our account: the others would fare no better
  };

  bool may_act() const;
  bool is_still_wanted(const Action& action) const;
  bool is_due(Deadline now) const;
  asio::awaitable<void> wait(Duration span);
  asio::awaitable<void> round();
  asio::awaitable<void> carry_out_plan(ActionPlan plan);
  void note_fuse(const ActionPlan& plan);
  void tell_dry_run(const ActionPlan& plan);
  asio::awaitable<Outcome> carry_out(Action action);
  asio::awaitable<Outcome> tell_event(Action action, Deadline deadline);
  asio::awaitable<Outcome> write_condition(Action action, Deadline deadline);
  asio::awaitable<Outcome> write_taint(Action action, Deadline deadline);
  asio::awaitable<Result<KubeReply>> patch(std::string path, std::string content_type, std::string body,
                                           Deadline deadline);
  Outcome conclude(ClusterWrite write, const Action& action, const KubeRequest& request,
                   const Result<KubeReply>& reply);
  Outcome failed(ClusterWrite write, const Action& action, const Error& error, Outcome outcome);
  WriteCounts& count(ClusterWrite write) { return counts_[static_cast<std::size_t>(write)]; }

  KubeClient& client_;
  const Fleet& fleet_;
  NodeWatch& nodes_;
  const LeaderLease* lease_;
  ActingPolicy policy_;
  const Log& log_;
  asio::steady_timer timer_;
  bool stopping_ = false;

  std::optional<std::uint64_t> planned_verdicts_;  ///< nullopt: plan at once
  std::uint64_t planned_nodes_ = 0;
  Deadline resync_at_{};
  Deadline retry_at_ = kNoDeadline;             ///< kNoDeadline: nothing failed
  std::set<std::string, std::less<>> put_off_;  ///< nodes that wait for retry_at_
  std::set<std::string> told_;                  ///< of a dry run: what the last plan had
  std::optional<std::string> fuse_;
  std::optional<std::string> trouble_;
  decltype(ReplicaFigures::writes) counts_{};
};

}  // namespace gpuskew
