#include "aggregator/api.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/api_audit.h"
#include "aggregator/api_fleet.h"
#include "aggregator/api_forecast.h"
#include "aggregator/api_response.h"
#include "proto/json.h"

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRoutes =
    "/healthz, /readyz, /metrics, /api/v1/status, /api/v1/nodes, /api/v1/nodes/NODE, /api/v1/findings, /api/v1/audit, "
    "/api/v1/forecast, /api/v1/history/NODE";
constexpr std::string_view kNodePrefix = "/api/v1/nodes/";
constexpr std::string_view kHistoryPrefix = "/api/v1/history/";

HttpResponse ready_response(const StoreHealth& store) {
  if (!store.error) {
    return text_response(200, "ready");
  }
  return text_response(503, fmt::format("not ready: the history database can not be written since {}: {}",
                                        to_rfc3339(store.failing_since), *store.error));
}

std::optional<std::size_t> parse_limit(std::string_view text) {
  std::size_t limit = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > kMaxHistoryLimit) {
    return std::nullopt;
  }
  return limit;
}

HttpResponse history_response(const HttpRequest& request, const ApiSources& sources, std::string_view node) {
  std::optional<std::size_t> limit = kDefaultHistoryLimit;
  if (auto asked = request.query.find("limit"); asked != request.query.end()) {
    limit = parse_limit(asked->second);
  }
  if (!limit) {
    return error_response(400, fmt::format("limit must be a number from 1 to {}", kMaxHistoryLimit));
  }
  Result<std::vector<Transition>> transitions = sources.store.history(node, *limit);
  if (!transitions) {
    sources.writer.note_read_error(transitions.error());
    return error_response(500, "history database: " + transitions.error().what);
  }
  if (transitions->empty() && sources.fleet.find(node) == nullptr) {
    return error_response(
        404, fmt::format("nothing is known of a node {}; GET /api/v1/nodes lists those that have reported", node));
  }
  Json list = Json::array();
  for (const Transition& transition : *transitions) {
    list.push_back(to_json(transition));
  }
  Json json;
  json["node"] = std::string(node);
  json["transitions"] = std::move(list);
  return json_response(json);
}

HttpResponse metrics_response(const ApiSources& sources) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  const std::optional<ClusterView> cluster = sources.cluster();
  response.body = metrics_text(sources.fleet, sources.streams, sources.writer.health(), sources.matrix.status(),
                               sources.process(), cluster ? &cluster->replica : nullptr);
  return response;
}

FleetSources fleet_sources(const ApiSources& sources) {
  const std::optional<ClusterView> cluster = sources.cluster();
  return FleetSources{sources.fleet, sources.matrix.status(),
                      fmt::format("set matrix.file in {}, and reload (SIGHUP)", sources.config_file.string()),
                      cluster ? cluster->nodes : nullptr, cluster ? std::optional(cluster->replica) : std::nullopt};
}

/// "" when the request does not have it.
std::string parameter(const HttpRequest& request, const std::string& name) {
  const auto asked = request.query.find(name);
  return asked == request.query.end() ? std::string() : asked->second;
}

HttpResponse route(const HttpRequest& request, const ApiSources& sources, Time now) {
  const std::string_view path = request.path;
  if (path == "/healthz") {
    return text_response(200, "ok");
  }
  if (path == "/readyz") {
    return ready_response(sources.writer.health());
  }
  if (path == "/metrics") {
    return metrics_response(sources);
  }
  if (path == "/api/v1/status") {
    return status_response(fleet_sources(sources), &sources.writer.health(), now);
  }
  if (path == "/api/v1/nodes") {
    return nodes_response(fleet_sources(sources));
  }
  if (path == "/api/v1/findings") {
    return findings_response(sources.fleet);
  }
  if (path == "/api/v1/audit") {
    return audit_response(fleet_sources(sources), parameter(request, "node"));
  }
  if (path == "/api/v1/forecast") {
    return forecast_response(fleet_sources(sources), parameter(request, "kernel"), parameter(request, "node"));
  }
  if (path.starts_with(kNodePrefix) && path.size() > kNodePrefix.size()) {
    return node_response(fleet_sources(sources), path.substr(kNodePrefix.size()));
  }
  if (path.starts_with(kHistoryPrefix) && path.size() > kHistoryPrefix.size()) {
    return history_response(request, sources, path.substr(kHistoryPrefix.size()));
  }
  return error_response(404, fmt::format("there is nothing at {}; there is {}", path, kRoutes));
}

}  // namespace

HttpResponse answer(const HttpRequest& request, const ApiSources& sources, Time now) {
  if (std::optional<HttpResponse> refused = sources.auth.refuse(request)) {
    return std::move(*refused);
  }
  if (request.method != "GET") {
    HttpResponse response =
        error_response(405, fmt::format("{} is not allowed: the API only reads; use GET", request.method));
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  return route(request, sources, now);
}

}  // namespace gpuskew
