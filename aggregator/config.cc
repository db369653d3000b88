#include "aggregator/config.h"

#include <cmath>
#include <utility>

#include "core/label.h"
#include "runtime/file.h"
#include "runtime/yaml.h"

namespace gpuskew {

namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;

// A grace outside these is a typing error: below, every reboot alarms; above, nothing ever does.
constexpr Duration kMinGrace = seconds(1);
constexpr Duration kMaxGrace = hours(24);
constexpr Duration kMinRetention = hours(1);
constexpr Duration kMaxRetention = hours(24 * 3650);

void require(YamlMap& map, std::string_view key, const fs::path& value) {
  if (value.empty()) {
    map.report(key, "is required: a PEM file");
  }
}

void read_agents(YamlMap map, AgentsConfig& into) {
  auto max_connections = static_cast<std::int64_t>(into.max_connections);
  map.text("listen", into.listen);
  map.path("certificate", into.tls.certificate);
  map.path("key", into.tls.key);
  map.path("client_ca", into.tls.ca);
  map.integer("max_connections", 1, kMaxAgentConnections, max_connections);
  into.max_connections = static_cast<std::size_t>(max_connections);
  require(map, "certificate", into.tls.certificate);
  require(map, "key", into.tls.key);
  require(map, "client_ca", into.tls.ca);
}

void read_api(YamlMap map, ApiConfig& into) {
  TlsFiles tls;
  fs::path token_file;
  map.text("listen", into.listen);
  map.path("certificate", tls.certificate);
  map.path("key", tls.key);
  map.path("client_ca", tls.ca);
  map.path("token_file", token_file);
  map.boolean("allow_anonymous", into.allow_anonymous);
  if (tls.certificate.empty() != tls.key.empty()) {
    map.report(tls.certificate.empty() ? "key" : "certificate", "certificate and key go together; one is missing");
  }
  if (tls.certificate.empty() && !tls.ca.empty()) {
    map.report("client_ca", "needs certificate and key: without TLS there are no client certificates");
  }
  if (!tls.certificate.empty()) {
    into.tls = std::move(tls);
  }
  if (!token_file.empty()) {
    into.token_file = std::move(token_file);
  }
}

void read_tag(YamlMap map, TagPolicy& into) {
  std::string driver_part = into.driver_part == DriverPart::Branch ? "branch" : "version";
  std::optional<std::string> operator_version;
  map.choice("driver_part", {"branch", "version"}, driver_part);
  map.optional_text("operator_version", operator_version);
  into.driver_part = driver_part == "branch" ? DriverPart::Branch : DriverPart::Version;
  if (operator_version) {
    Result<OperatorVersion> parsed = OperatorVersion::parse(*operator_version);
    if (parsed) {
      into.operator_version = std::move(*parsed);
    } else {
      map.report("operator_version", parsed.error().what);
    }
  }
}

void read_judge(YamlMap map, JudgePolicy& into) {
  map.duration("boot_grace", kMinGrace, kMaxGrace, into.boot_grace);
  map.duration("container_grace", kMinGrace, kMaxGrace, into.container_grace);
  map.duration("silent_after", kMinGrace, kMaxGrace, into.silent_after);
  map.duration("wedged_after", kMinGrace, kMaxGrace, into.wedged_after);
}

// "NAMESPACE/NAME", each part as Kubernetes names things.
void read_object_name(YamlMap& map, std::string_view key, std::string& into) {
  map.text(key, into);
  const std::size_t slash = into.find('/');
  if (slash == std::string::npos || !is_dns_subdomain(into.substr(0, slash)) ||
      !is_dns_subdomain(into.substr(slash + 1))) {
    map.report(key, "must be NAMESPACE/NAME");
  }
}

void read_acting(YamlMap map, KubernetesConfig& into) {
  std::int64_t percent = std::lround(into.acting.max_tainted_fraction * 100);
  map.boolean("condition", into.acting.condition);
  map.boolean("events", into.acting.events);
  map.boolean("taint", into.acting.taint);
  map.boolean("dry_run", into.acting_dry_run);
  map.integer("max_tainted_percent", 1, 100, percent);
  into.acting.max_tainted_fraction = static_cast<double>(percent) / 100;
  if (into.acting.events && !into.acting.condition) {
    map.report("events", "needs condition: true: an Event tells a change of the condition");
  }
}

void read_kubernetes(YamlMap map, KubernetesConfig& into) {
  map.boolean("enabled", into.enabled);
  if (map.has("kubeconfig")) {
    map.path("kubeconfig", into.kubeconfig.emplace());
  }
  read_object_name(map, "agent_service_account", into.agent_service_account);
  read_object_name(map, "lease", into.lease);
  map.boolean("api_tokens", into.api_tokens);
  read_acting(map.map("acting"), into);
  if (!into.enabled && (into.acting.condition || into.acting.taint)) {
    map.report("acting", "needs kubernetes.enabled: true");
  }
}

void read_log(YamlMap map, LogLevel& into) {
  std::string level(to_string(into));
  map.choice("level", {"error", "warning", "info", "debug"}, level);
  if (Result<LogLevel> parsed = parse_log_level(level)) {
    into = *parsed;
  }
}

}  // namespace

Result<Config> parse_config(const fs::path& file, std::string_view text) {
  Result<YamlMap> root = YamlMap::parse(file.string(), text);
  if (!root) {
    return tl::unexpected(root.error());
  }
  Config config;
  config.file = file;
  read_agents(root->map("agents"), config.agents);
  read_api(root->map("api"), config.api);
  YamlMap history = root->map("history");
  history.path("path", config.history.path);
  history.duration("retention", kMinRetention, kMaxRetention, config.history.retention);
  YamlMap matrix = root->map("matrix");
  if (matrix.has("file")) {
    matrix.path("file", config.matrix_file.emplace());
  }
  read_tag(root->map("tag"), config.judge.tag);
  read_judge(root->map("judge"), config.judge);
  read_kubernetes(root->map("kubernetes"), config.kubernetes);
  read_log(root->map("log"), config.log_level);
  Result<void> read = root->finish();
  if (!read) {
    return tl::unexpected(read.error());
  }
  return config;
}

Result<Config> load_config(const fs::path& file) {
  Result<std::string> text = read_file(file, kMaxYamlBytes);
  if (!text) {
    return fail("configuration", text.error());
  }
  return parse_config(file, *text);
}

}  // namespace gpuskew
