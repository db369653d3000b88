#include "aggregator/api_fleet.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/api_cluster.h"
#include "aggregator/api_response.h"
#include "aggregator/node_states.h"
#include "proto/json.h"

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kSeverities = {Severity::Critical, Severity::Warning, Severity::Info};

Json store_json(const StoreHealth& store) {
  Json json;
  json["ok"] = !store.error.has_value();
  json["error"] = store.error ? Json(*store.error) : Json();
  json["failing_since"] = store.error ? Json(to_rfc3339(store.failing_since)) : Json();
  return json;
}

Fact<std::uint32_t> count_of(const Fact<std::vector<Gpu>>& gpus) {
  if (gpus.is_known()) {
    return Fact<std::uint32_t>::known(static_cast<std::uint32_t>(gpus->size()), gpus.source());
  }
  return gpus.is_absent() ? Fact<std::uint32_t>::absent(gpus.source())
                          : Fact<std::uint32_t>::unknown(gpus.why(), gpus.source());
}

/// A node that no agent speaks for was never heard.
Json time_or_never(Time at) {
  return at == Time{} ? Json() : Json(to_rfc3339(at));
}

Json node_line(const NodeRecord& record, const FleetSources& sources) {
  const Snapshot& snapshot = record.snapshot;
  Result<Tag> tag = node_tag(snapshot, record.history, sources.fleet.policy().tag);
  Json json;
  json["name"] = snapshot.node;
  json["state"] = to_string(record.verdict.state);
  json["why"] = record.verdict.why;
  json["kernel"] = to_json(snapshot.kernel);
  json["os"] = to_json(snapshot.os);
  json["driver"] = to_json(snapshot.loaded_driver);
  json["gpus"] = to_json(count_of(snapshot.gpus));
  json["boot_id"] = to_json(snapshot.boot_id);
  json["tag"] = tag ? Json(tag->text) : Json();
  json["tag_error"] = tag ? Json() : Json(tag.error().what);
  json["next_boot"] = to_json(record.verdict.next_boot);
  json["last_heard"] = time_or_never(record.last_heard);
  Json codes = Json::array();
  for (const Finding& finding : record.verdict.findings) {
    codes.push_back(to_string(finding.code));
  }
  json["findings"] = std::move(codes);
  add_cluster_node(sources, snapshot.node, json);
  return json;
}

}  // namespace

HttpResponse status_response(const FleetSources& sources, const StoreHealth* history, Time now) {
  std::array<std::size_t, kNodeStates.size()> by_state{};
  std::array<std::size_t, kSeverities.size()> by_severity{};
  for (const auto& [name, record] : sources.fleet.nodes()) {
    ++by_state[static_cast<std::size_t>(record.verdict.state)];
    for (const Finding& finding : record.verdict.findings) {
      ++by_severity[static_cast<std::size_t>(finding.severity)];
    }
  }
  Json json;
  json["version"] = GPUSKEW_VERSION;
  json["now"] = to_rfc3339(now);
  json["nodes"]["total"] = sources.fleet.nodes().size();
  for (NodeState state : kNodeStates) {
    json["nodes"][std::string(to_string(state))] = by_state[static_cast<std::size_t>(state)];
  }
  for (Severity severity : kSeverities) {
    json["findings"][std::string(to_string(severity))] = by_severity[static_cast<std::size_t>(severity)];
  }
  json["matrix"] = matrix_json(sources.matrix);
  json["history"] = history == nullptr ? Json() : store_json(*history);
  add_cluster_summary(sources, json);
  add_replica(sources, json);
  return json_response(json);
}

HttpResponse nodes_response(const FleetSources& sources) {
  // Node by node into text: the same as one DOM would take ten times the memory for 5,000 nodes.
  HttpResponse response;
  response.body = "{\"nodes\":[";
  bool first = true;
  for (const auto& [name, record] : sources.fleet.nodes()) {
    if (!first) {
      response.body += ',';
    }
    first = false;
    response.body += dump(node_line(record, sources), false);
  }
  response.body += "]}\n";
  return response;
}

HttpResponse node_response(const FleetSources& sources, std::string_view name) {
  const NodeRecord* record = sources.fleet.find(name);
  if (record == nullptr) {
    return unknown_node(name);
  }
  Result<Tag> tag = node_tag(record->snapshot, record->history, sources.fleet.policy().tag);
  Json json;
  json["name"] = record->snapshot.node;
  json["state"] = to_string(record->verdict.state);
  json["why"] = record->verdict.why;
  json["first_seen"] = time_or_never(record->first_seen);
  json["last_heard"] = time_or_never(record->last_heard);
  json["snapshot"] = to_json(record->snapshot);
  json["last_good"] = record->history.last_good ? to_json(*record->history.last_good) : Json();
  json["wanted_driver"] = to_json(wanted_driver(record->snapshot, record->history));
  json["tag"] = tag ? to_json(*tag) : Json();
  json["tag_error"] = tag ? Json() : Json(tag.error().what);
  Json findings = Json::array();
  for (const Finding& finding : record->verdict.findings) {
    findings.push_back(to_json(finding));
  }
  json["findings"] = std::move(findings);
  json["next_boot"] = to_json(record->verdict.next_boot);
  add_cluster_node(sources, name, json);
  return json_response(json);
}

HttpResponse findings_response(const Fleet& fleet) {
  std::vector<const Finding*> findings;
  for (const auto& [name, record] : fleet.nodes()) {
    for (const Finding& finding : record.verdict.findings) {
      findings.push_back(&finding);
    }
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding* a, const Finding* b) {
    return std::tie(b->severity, a->since, a->node) < std::tie(a->severity, b->since, b->node);
  });
  Json list = Json::array();
  for (const Finding* finding : findings) {
    list.push_back(to_json(*finding));
  }
  Json json;
  json["findings"] = std::move(list);
  return json_response(json);
}

}  // namespace gpuskew
