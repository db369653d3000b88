#pragma once

// GPU nodes of the cluster that no agent speaks for, and nodes that left the cluster: so that the fleet has no silent
// gap, and no ghosts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>

#include "aggregator/fleet_recorder.h"
#include "aggregator/kube/node_watch.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

class UnheardNodes {
 public:
  static constexpr Duration kPulse = std::chrono::seconds(5);

  /// Both must outlive the object.
  UnheardNodes(FleetRecorder& recorder, NodeWatch& watch) : recorder_(recorder), watch_(watch) {}

  /// Until cancelled.
  asio::awaitable<Result<void>> run();

  /// A GPU node (by its labels or resources) is shown as unknown when nothing was heard of it for judge.silent_after
  /// since it was first seen here. A node that was of the cluster and is not any more is forgotten once its agent is
  /// silent for as long; a node that never was of the cluster is none of this.
  void pulse(Time now);

 private:
  void look_at(const ClusterNode& node, bool has_changed, Time now);
  void forget_gone(Time now);

  FleetRecorder& recorder_;
  NodeWatch& watch_;
  std::optional<std::uint64_t> seen_changes_;  ///< watch_.changes() at the last pulse
  std::map<std::string, Time, std::less<>> unheard_since_;
};

}  // namespace gpuskew
