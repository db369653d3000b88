#include "aggregator/api_audit.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/api_response.h"
#include "aggregator/image_row.h"
#include "core/label.h"
#include "proto/json.h"

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

/// Kernels (label form) of the nodes that share one OS tag: the operator keys its node pools by both.
using Pools = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

std::vector<std::string> fleet_notes(const Pools& pools) {
  std::vector<std::string> notes;
  for (const auto& [os, kernels] : pools) {
    for (const std::string& note : shared_object_form_notes(kernels)) {
      notes.push_back(fmt::format("{}: {}", os, note));
    }
  }
  return notes;
}

HttpResponse no_matrix_response(const FleetSources& sources) {
  if (!sources.matrix.configured) {
    return error_response(409, "no matrix is configured; " + sources.matrix_remedy);
  }
  return error_response(
      409, fmt::format("the matrix was never read well: {}", sources.matrix.error.value_or("unknown why")));
}

}  // namespace

bool is_outside_audit(const FleetSources& sources, const NodeRecord& record) {
  const Snapshot& snapshot = record.snapshot;
  if (record.verdict.state == NodeState::NotJudged || snapshot.l4t_release.is_known()) {
    return true;
  }
  const ClusterNode* node = sources.cluster_node(snapshot.node);
  if (node != nullptr && record.last_heard == Time{}) {
    return !gpu_sign(*node);
  }
  const bool no_gpu = snapshot.gpus.is_absent() || (snapshot.gpus.is_known() && snapshot.gpus->empty());
  const bool had_driver = record.history.last_good.has_value() || snapshot.remembered.has_value();
  return no_gpu && !snapshot.loaded_driver.is_known() && !had_driver;
}

HttpResponse audit_response(const FleetSources& sources, std::string_view node) {
  const Matrix* matrix = sources.fleet.matrix();
  if (!node.empty() && sources.fleet.find(node) == nullptr) {
    return unknown_node(node);
  }
  if (matrix == nullptr) {
    return no_matrix_response(sources);
  }
  // Node by node into text: as one DOM, 5,000 nodes take three times the time.
  std::string nodes;
  Pools pools;
  WorstImage worst;
  for (const auto& [name, record] : sources.fleet.nodes()) {
    if ((!node.empty() && name != node) || is_outside_audit(sources, record)) {
      continue;
    }
    const Result<Tag> tag = node_tag(record.snapshot, record.history, sources.fleet.policy().tag);
    worst.add(image_state(sources, record, tag));
    if (tag) {
      pools[tag->os].insert(tag->kernel);
    }
    nodes += nodes.empty() ? "" : ",";
    nodes += dump(image_row(sources, record, tag), false);
  }
  HttpResponse response;
  response.body = fmt::format(R"({{"result":"{}","matrix":{},"nodes":[{}],"notes":{}}})", to_string(worst.state()),
                              dump(matrix_json(sources.matrix), false), nodes, dump(Json(fleet_notes(pools)), false));
  response.body += '\n';
  return response;
}

}  // namespace gpuskew
