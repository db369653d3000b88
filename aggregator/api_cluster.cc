#include "aggregator/api_cluster.h"

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

Json count_json(const std::optional<std::uint64_t>& count) {
  return count ? Json(*count) : Json();
}

Json resources_json(const ClusterNode& node) {
  Json all = Json::object();
  for (const auto& [name, resource] : node.gpu_resources) {
    Json& json = all[name];
    json["capacity"] = count_json(resource.capacity);
    json["allocatable"] = count_json(resource.allocatable);
  }
  return all;
}

}  // namespace

void add_cluster_node(const FleetSources& sources, std::string_view name, Json& to) {
  const ClusterNode* node = sources.cluster_node(name);
  if (node == nullptr) {
    return;
  }
  Json& json = to["cluster"];
  json["ready"] = to_string(node->ready);
  json["ready_since"] = node->ready_since ? Json(to_rfc3339(*node->ready_since)) : Json();
  json["unschedulable"] = node->unschedulable;
  json["upgrade_state"] = upgrade_state(*node);
  json["gpu_resources"] = resources_json(*node);
  json["notes"] = contradictions(*node);
}

void add_cluster_summary(const FleetSources& sources, Json& to) {
  if (sources.cluster == nullptr) {
    return;
  }
  std::uint64_t ready = 0;
  std::uint64_t unschedulable = 0;
  std::uint64_t gpu_nodes = 0;
  std::uint64_t contradictory = 0;
  for (const auto& [name, node] : *sources.cluster) {
    ready += node.ready == NodeReady::Yes ? 1 : 0;
    unschedulable += node.unschedulable ? 1 : 0;
    gpu_nodes += gpu_sign(node) ? 1 : 0;
    contradictory += contradictions(node).empty() ? 0 : 1;
  }
  Json& json = to["cluster"];
  json["ready"] = ready;
  json["not_ready"] = sources.cluster->size() - ready;
  json["unschedulable"] = unschedulable;
  json["gpu_nodes"] = gpu_nodes;
  json["contradictory"] = contradictory;
}

void add_replica(const FleetSources& sources, Json& to) {
  if (!sources.replica) {
    return;
  }
  const ReplicaFigures& replica = *sources.replica;
  Json& json = to["replica"];
  json["leads"] = replica.leads;
  json["identity"] = replica.identity;
  json["leader"] = replica.leader;
  json["dry_run"] = replica.dry_run;
  json["fuse"] = replica.fuse ? Json(*replica.fuse) : Json();
  json["trouble"] = replica.trouble ? Json(*replica.trouble) : Json();
}

}  // namespace gpuskew
