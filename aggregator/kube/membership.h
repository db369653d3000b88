#pragma once

// All that this aggregator has to do with the cluster it is of: who it is asked about, what it watches, whether it
// leads, and what it does.

#include <memory>
#include <optional>

#include <asio/any_io_executor.hpp>

#include "aggregator/acting_figures.h"
#include "aggregator/config.h"
#include "aggregator/fleet_recorder.h"
#include "aggregator/kube/acting.h"
#include "aggregator/kube/identity.h"
#include "aggregator/kube/leader_lease.h"
#include "aggregator/kube/node_watch.h"
#include "aggregator/kube/unheard_nodes.h"
#include "core/result.h"
#include "runtime/kube/client.h"

namespace gpuskew {

class Log;
class Run;

class ClusterMembership {
 public:
  /// Reads credentials, asks nothing yet. `recorder` and `log` must outlive the object. Errors name the file and the
  /// key.
  static Result<std::unique_ptr<ClusterMembership>> join(asio::any_io_executor executor, const KubernetesConfig& config,
                                                         FleetRecorder& recorder, const Log& log);
  ClusterMembership(const ClusterMembership&) = delete;
  ClusterMembership& operator=(const ClusterMembership&) = delete;

  KubeIdentity& identity() { return identity_; }
  /// nullptr until all are known.
  const ClusterNodes* nodes() const { return nodes_.is_whole() ? &nodes_.nodes() : nullptr; }
  ReplicaFigures figures() const;

  /// Of a dry run: the Lease is left to the replicas that act.
  void run_in(Run& run);

 private:
  ClusterMembership(asio::any_io_executor executor, std::unique_ptr<KubeClient> client, const KubernetesConfig& config,
                    FleetRecorder& recorder, const Log& log);

  std::unique_ptr<KubeClient> client_;
  bool dry_run_;
  KubeIdentity identity_;
  NodeWatch nodes_;
  UnheardNodes unheard_;
  std::optional<LeaderLease> lease_;  ///< nullopt in a dry run
  std::optional<Acting> acting_;      ///< nullopt when nothing is to be done
};

}  // namespace gpuskew
