#include "aggregator/kube/membership.h"

#include <utility>

#include "aggregator/kube/cluster_access.h"
#include "aggregator/kube/lease.h"
#include "runtime/log.h"
#include "runtime/run.h"

namespace gpuskew {

Result<std::unique_ptr<ClusterMembership>> ClusterMembership::join(asio::any_io_executor executor,
                                                                   const KubernetesConfig& config,
                                                                   FleetRecorder& recorder, const Log& log) {
  Result<KubeAccess> access = cluster_access(config);
  if (!access) {
    return tl::unexpected(access.error());
  }
  KubeClientOptions options;
  options.user_agent = "gpuskew-aggregator/" GPUSKEW_VERSION;
  Result<std::unique_ptr<KubeClient>> client = KubeClient::open(executor, std::move(*access), options);
  if (!client) {
    return tl::unexpected(client.error());
  }
  return std::unique_ptr<ClusterMembership>(
      new ClusterMembership(std::move(executor), std::move(*client), config, recorder, log));
}

ClusterMembership::ClusterMembership(asio::any_io_executor executor, std::unique_ptr<KubeClient> client,
                                     const KubernetesConfig& config, FleetRecorder& recorder, const Log& log)
    : client_(std::move(client)),
      dry_run_(config.acting_dry_run),
      identity_(executor, *client_, config.agent_service_account),
      nodes_(*client_, log),
      unheard_(recorder, nodes_) {
  if (!dry_run_) {
    lease_.emplace(executor, *client_, config.lease, replica_identity(), log);
  }
  if (config.acting.condition || config.acting.taint) {
    acting_.emplace(executor, *client_, recorder.fleet(), nodes_, lease_ ? &*lease_ : nullptr, config.acting, log);
  }
}

ReplicaFigures ClusterMembership::figures() const {
  ReplicaFigures figures;
  figures.dry_run = dry_run_;
  if (lease_) {
    figures.leads = lease_->leads();
    figures.identity = lease_->identity();
    figures.leader = lease_->leader();
  }
  figures.trouble = nodes_.trouble();
  if (acting_) {
    acting_->add_to(figures);
  }
  return figures;
}

void ClusterMembership::run_in(Run& run) {
  run.add("cluster nodes", nodes_.run());
  run.add("nodes without an agent", unheard_.run());
  if (acting_) {
    run.add("acting", acting_->run(), [this] { acting_->stop(); });
  }
  if (lease_) {
    run.add("leader election", lease_->run(), [this] { lease_->stop(); });
  }
}

}  // namespace gpuskew
