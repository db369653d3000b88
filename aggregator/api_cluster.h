#pragma once

// What the Kubernetes API says of nodes, as members of the answers that also speak of them.

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/fleet_sources.h"

namespace gpuskew {

/// Adds "cluster": {"ready", "unschedulable", "upgrade_state", "gpu_resources", "notes"}; nothing where the API was not
/// asked, or does not have the node. `notes` are its contradictions.
void add_cluster_node(const FleetSources& sources, std::string_view name, nlohmann::ordered_json& to);

/// Adds "cluster": {"ready", "not_ready", "unschedulable", "gpu_nodes", "contradictory"}, each a number of nodes;
/// nothing where the API was not asked.
void add_cluster_summary(const FleetSources& sources, nlohmann::ordered_json& to);

/// Adds "replica": {"leads", "identity", "leader", "dry_run", "fuse", "trouble"}, who acts and why a node is not
/// tainted; nothing where the answer is not an aggregator's that is of a cluster.
void add_replica(const FleetSources& sources, nlohmann::ordered_json& to);

}  // namespace gpuskew
