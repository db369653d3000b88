#include "aggregator/cli/cluster_fleet.h"

#include <utility>

#include "aggregator/api_audit.h"
#include "aggregator/api_fleet.h"
#include "aggregator/api_forecast.h"
#include "aggregator/api_response.h"
#include "core/kube/cluster_snapshot.h"

namespace gpuskew {
namespace {

MatrixStatus status_of(const std::optional<GivenMatrix>& matrix) {
  MatrixStatus status;
  if (matrix) {
    status.configured = true;
    status.rows = matrix->matrix->size();
    status.source = matrix->file;
  }
  return status;
}

}  // namespace

ClusterFleet::ClusterFleet(TagPolicy tag, std::optional<GivenMatrix> matrix)
    : tag_(std::move(tag)), matrix_(std::move(matrix)), fleet_(empty_fleet()) {}

Fleet ClusterFleet::empty_fleet() const {
  JudgePolicy policy;
  policy.tag = tag_;
  Fleet fleet(policy);
  fleet.set_rules(policy, matrix_ ? matrix_->matrix : nullptr, Time{});
  return fleet;
}

void ClusterFleet::clear() {
  fleet_ = empty_fleet();
  cluster_.clear();
}

void ClusterFleet::add(ClusterNode node, Time now) {
  NodeRecord record;
  record.snapshot = snapshot_from_cluster_node(node, now);
  // No tick follows, so that this verdict stays: the rules are for what an agent has seen.
  record.verdict = verdict_without_agent(node);
  fleet_.restore(std::move(record), now);
  std::string name = node.name;
  cluster_.insert_or_assign(std::move(name), std::move(node));
}

HttpResponse ClusterFleet::answer(const Question& question, Time now) const {
  const FleetSources sources{fleet_, status_of(matrix_),
                             "name the file of the images that exist: --matrix FILE (driver_branch,kernel,os_tag)",
                             &cluster_};
  switch (question.topic) {
    case Topic::Status:
      return status_response(sources, nullptr, now);
    case Topic::Nodes:
      return nodes_response(sources);
    case Topic::Node:
      return node_response(sources, question.node);
    case Topic::Findings:
      return findings_response(fleet_);
    case Topic::Audit:
      return audit_response(sources, question.node);
    case Topic::Forecast:
      return forecast_response(sources, question.kernel, question.node);
    case Topic::History:
      break;
  }
  return error_response(409,
                        "a cluster keeps no history of its nodes, an aggregator does: set --server or GPUSKEW_SERVER");
}

}  // namespace gpuskew
