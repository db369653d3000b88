#include "aggregator/image_row.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/api_cluster.h"

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

const Finding* silence_of(const NodeRecord& record) {
  const auto& findings = record.verdict.findings;
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [](const Finding& finding) { return finding.code == FindingCode::AgentSilent; });
  return at == findings.end() ? nullptr : &*at;
}

std::string why_not_ok(const FleetSources& sources, const NodeRecord& record, const Result<Tag>& tag) {
  if (!tag) {
    return tag.error().what;
  }
  if (const Finding* silence = silence_of(record)) {
    return silence->cause;
  }
  if (sources.fleet.matrix() == nullptr) {
    return "there is no matrix to look for " + tag->text + " in; " + sources.matrix_remedy;
  }
  return tag->text + " is not in the matrix";
}

}  // namespace

const char* to_string(ImageState state) {
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

void WorstImage::add(ImageState state) {
  missing_ = missing_ || state == ImageState::Missing;
  unknown_ = unknown_ || state == ImageState::Unknown;
}

ImageState WorstImage::state() const {
  return missing_ ? ImageState::Missing : unknown_ ? ImageState::Unknown : ImageState::Ok;
}

ImageState image_state(const FleetSources& sources, const NodeRecord& record, const Result<Tag>& tag) {
  const Matrix* matrix = sources.fleet.matrix();
  if (!tag || silence_of(record) != nullptr || matrix == nullptr) {
    return ImageState::Unknown;
  }
  return matrix->contains(*tag) ? ImageState::Ok : ImageState::Missing;
}

Json image_row(const FleetSources& sources, const NodeRecord& record, const Result<Tag>& tag) {
  const ImageState state = image_state(sources, record, tag);
  Json json;
  json["name"] = record.snapshot.node;
  json["tag"] = tag ? Json(tag->text) : Json();
  json["verdict"] = to_string(state);
  json["why"] = state == ImageState::Ok ? "" : why_not_ok(sources, record, tag);
  json["notes"] = tag ? tag->notes : std::vector<std::string>();
  add_cluster_node(sources, record.snapshot.node, json);
  return json;
}

}  // namespace gpuskew
