#pragma once

// What answers about a fleet are made from: of an aggregator, or of a command that asked a cluster itself.

#include <optional>
#include <string>

#include "aggregator/acting_figures.h"
#include "aggregator/matrix_file.h"
#include "core/fleet.h"
#include "core/kube/cluster_node.h"

namespace gpuskew {

/// Refers to what its maker owns; for one answer.
struct FleetSources {
  const Fleet& fleet;
  MatrixStatus matrix;
  std::string matrix_remedy;  ///< when there is none: "set matrix.file in FILE, and reload (SIGHUP)"
  /// What the Kubernetes API says of the nodes; nullptr: it was not asked.
  const ClusterNodes* cluster = nullptr;
  /// Of an aggregator that is of a cluster.
  std::optional<ReplicaFigures> replica = std::nullopt;

  const ClusterNode* cluster_node(std::string_view name) const {
    const auto found = cluster == nullptr ? ClusterNodes::const_iterator{} : cluster->find(name);
    return cluster == nullptr || found == cluster->end() ? nullptr : &found->second;
  }
};

}  // namespace gpuskew
