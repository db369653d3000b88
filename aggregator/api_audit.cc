#include "aggregator/api_audit.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/api_response.h"
#include "core/label.h"
#include "proto/json.h"

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

/// Kernels (label form) of the nodes that share one OS tag: the operator keys its node pools by both.
using Pools = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

// A node without a GPU and a driver, or whose GPU takes no driver image (Jetson, passthrough). A node that may have
// one is audited: unknown is not fine.
bool is_outside(const NodeRecord& record) {
  const Snapshot& snapshot = record.snapshot;
  if (record.verdict.state == NodeState::NotJudged || snapshot.l4t_release.is_known()) {
    return true;
  }
  bool no_gpu = snapshot.gpus.is_absent() || (snapshot.gpus.is_known() && snapshot.gpus->empty());
  bool had_driver = record.history.last_good.has_value() || snapshot.remembered.has_value();
  return no_gpu && !snapshot.loaded_driver.is_known() && !had_driver;
}

Json audited(const NodeRecord& record, const Result<Tag>& tag, const Matrix& matrix) {
  Json json;
  json["name"] = record.snapshot.node;
  json["tag"] = tag ? Json(tag->text) : Json();
  if (!tag) {
    json["verdict"] = "unknown";
    json["why"] = tag.error().what;
  } else if (matrix.contains(*tag)) {
    json["verdict"] = "ok";
    json["why"] = "";
  } else {
    json["verdict"] = "missing";
    json["why"] = fmt::format("{} is not in the matrix", tag->text);
  }
  json["notes"] = tag ? tag->notes : std::vector<std::string>();
  return json;
}

std::vector<std::string> fleet_notes(const Pools& pools) {
  std::vector<std::string> notes;
  for (const auto& [os, kernels] : pools) {
    for (const std::string& note : shared_object_form_notes(kernels)) {
      notes.push_back(os + ": " + note);
    }
  }
  return notes;
}

HttpResponse no_matrix(const ApiSources& sources, const MatrixStatus& status) {
  if (!status.configured) {
    return error_response(409, fmt::format("no matrix is configured; set matrix.file in {}, and reload (SIGHUP)",
                                           sources.config_file.string()));
  }
  return error_response(409, fmt::format("the matrix was never read well: {}", status.error.value_or("unknown why")));
}

}  // namespace

HttpResponse audit_response(const ApiSources& sources) {
  const MatrixStatus status = sources.matrix.status();
  const Matrix* matrix = sources.fleet.matrix();
  if (matrix == nullptr) {
    return no_matrix(sources, status);
  }
  Json nodes = Json::array();
  Pools pools;
  bool missing = false;
  bool unknown = false;
  for (const auto& [name, record] : sources.fleet.nodes()) {
    if (is_outside(record)) {
      continue;
    }
    Result<Tag> tag = node_tag(record.snapshot, record.history, sources.fleet.policy().tag);
    if (tag) {
      pools[tag->os].insert(tag->kernel);
    }
    Json line = audited(record, tag, *matrix);
    missing = missing || line["verdict"] == "missing";
    unknown = unknown || line["verdict"] == "unknown";
    nodes.push_back(std::move(line));
  }
  Json json;
  json["result"] = missing ? "missing" : unknown ? "unknown" : "ok";
  json["matrix"]["configured"] = status.configured;
  json["matrix"]["rows"] = status.rows;
  json["matrix"]["source"] = status.source;
  json["matrix"]["error"] = status.error ? Json(*status.error) : Json();
  json["nodes"] = std::move(nodes);
  json["notes"] = fleet_notes(pools);
  return json_response(json);
}

}  // namespace gpuskew
