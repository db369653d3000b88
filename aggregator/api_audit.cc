#include "aggregator/api_audit.h"

#include <algorithm>
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

enum class ImageState : std::uint8_t { Ok, Missing, Unknown };

const char* to_text(ImageState state) {
  switch (state) {
    case ImageState::Ok:
      return "ok";
    case ImageState::Missing:
      return "missing";
    case ImageState::Unknown:
      return "unknown";
  }
  return "unknown";
}

// What a silent node runs by now nobody knows: its tag was right once.
const Finding* silence_of(const NodeRecord& record) {
  const auto& findings = record.verdict.findings;
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [](const Finding& finding) { return finding.code == FindingCode::AgentSilent; });
  return at == findings.end() ? nullptr : &*at;
}

ImageState image_state(const Result<Tag>& tag, const Finding* silence, const Matrix& matrix) {
  if (!tag || silence != nullptr) {
    return ImageState::Unknown;
  }
  return matrix.contains(*tag) ? ImageState::Ok : ImageState::Missing;
}

std::string why_not_ok(const Result<Tag>& tag, const Finding* silence) {
  if (!tag) {
    return tag.error().what;
  }
  return silence != nullptr ? silence->cause : tag->text + " is not in the matrix";
}

Json audited(const std::string& node, const Result<Tag>& tag, const Finding* silence, ImageState state) {
  Json json;
  json["name"] = node;
  json["tag"] = tag ? Json(tag->text) : Json();
  json["verdict"] = to_text(state);
  json["why"] = state == ImageState::Ok ? "" : why_not_ok(tag, silence);
  json["notes"] = tag ? tag->notes : std::vector<std::string>();
  return json;
}

std::vector<std::string> fleet_notes(const Pools& pools) {
  std::vector<std::string> notes;
  for (const auto& [os, kernels] : pools) {
    for (const std::string& note : shared_object_form_notes(kernels)) {
      notes.push_back(fmt::format("{}: {}", os, note));
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
  // Node by node into text: as one DOM, 5,000 nodes take three times the time.
  std::string nodes;
  Pools pools;
  bool missing = false;
  bool unknown = false;
  for (const auto& [name, record] : sources.fleet.nodes()) {
    if (is_outside(record)) {
      continue;
    }
    const Result<Tag> tag = node_tag(record.snapshot, record.history, sources.fleet.policy().tag);
    const ImageState state = image_state(tag, silence_of(record), *matrix);
    missing = missing || state == ImageState::Missing;
    unknown = unknown || state == ImageState::Unknown;
    if (tag) {
      pools[tag->os].insert(tag->kernel);
    }
    nodes += nodes.empty() ? "" : ",";
    nodes += dump(audited(name, tag, silence_of(record), state), false);
  }
  const ImageState worst = missing ? ImageState::Missing : unknown ? ImageState::Unknown : ImageState::Ok;
  HttpResponse response;
  response.body = fmt::format(R"({{"result":"{}","matrix":{},"nodes":[{}],"notes":{}}})", to_text(worst),
                              dump(matrix_json(status), false), nodes, dump(Json(fleet_notes(pools)), false));
  response.body += '\n';
  return response;
}

}  // namespace gpuskew
