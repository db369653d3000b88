#include "agent/config.h"

#include <algorithm>
#include <utility>

#include "agent/host_root.h"
#include "agent/paths.h"
#include "core/label.h"
#include "runtime/file.h"
#include "runtime/yaml.h"

namespace gpuskew {
namespace {

Result<void> check_node(const std::string& name) {
  if (is_dns_subdomain(name)) {
    return {};
  }
  return fail(ErrorCode::Malformed,
              "\"" + name +
                  "\" is no node name: lower-case letters, digits, '-' and '.', at most 253 characters, each "
                  "part beginning and ending with a letter or digit");
}

void read_address(YamlMap& map, AggregatorConfig& config) {
  std::string address;
  map.text("address", address);
  if (!map.has("address")) {
    return;
  }
  const auto parsed = parse_host_port(address);
  if (!parsed) {
    map.report("address", parsed.error().what);
    return;
  }
  config.address = *parsed;
}

void read_node(YamlMap& root, AgentConfig& config) {
  root.text("node", config.node);
  if (!root.has("node")) {
    return;
  }
  if (const auto good = check_node(config.node); !good) {
    root.report("node", good.error().what);
  }
}

void read_labels(YamlMap map, LabelConfig& config) {
  std::string way = "none";
  map.choice("publish", {"none", "api", "nfd"}, way);
  config.publish = way == "api" ? LabelWay::Api : way == "nfd" ? LabelWay::Nfd : LabelWay::None;
  map.duration("resync", kMinInterval, kMaxLabelResync, config.resync);
  map.path("kubeconfig", config.kubeconfig);
  map.path("nfd_directory", config.nfd_directory);
}

template <class To>
void override_with(const std::optional<std::string>& flag, To& into) {
  if (flag) {
    into = *flag;
  }
}

Result<void> apply_flags(const AgentCommandLine& line, AgentConfig& config) {
  const std::pair<const std::optional<std::string>*, std::string_view> needed[] = {
      {&line.node, "--node"},
      {&line.host_root, "--host-root"},
      {&line.state_directory, "--state-directory"},
      {&line.ca, "--ca"},
      {&line.certificate, "--certificate"},
      {&line.key, "--key"},
      {&line.token_file, "--token-file"},
      {&line.server_name, "--server-name"}};
  for (const auto& [flag, name] : needed) {
    if (*flag && (*flag)->empty()) {
      return fail(ErrorCode::Malformed, std::string(name) + " is empty");
    }
  }
  override_with(line.node, config.node);
  override_with(line.host_root, config.host_root);
  override_with(line.state_directory, config.state_directory);
  override_with(line.ca, config.aggregator.tls.ca);
  override_with(line.certificate, config.aggregator.tls.certificate);
  override_with(line.key, config.aggregator.tls.key);
  override_with(line.token_file, config.aggregator.token_file);
  override_with(line.server_name, config.aggregator.server_name);
  if (line.wait) {
    const auto wait = parse_duration(*line.wait);
    if (!wait || *wait > kMaxCheckWait) {
      return fail(
          ErrorCode::Malformed,
          "--wait: " + (wait ? *line.wait + " is more than " + to_short_text(kMaxCheckWait) : wait.error().what));
    }
    config.check_wait = *wait;
  }
  if (line.aggregator) {
    const auto address = parse_host_port(*line.aggregator);
    if (!address) {
      return fail("--aggregator", address.error());
    }
    // The file's server_name belongs to the file's address.
    if (!line.server_name) {
      config.aggregator.server_name.clear();
    }
    config.aggregator.address = *address;
  }
  return {};
}

Result<AgentConfig> config_of_file(const AgentCommandLine& line) {
  const bool named = line.config_file.has_value();
  if (!named && line.command == AgentCommand::Facts) {
    return AgentConfig{};
  }
  const std::string file = named ? *line.config_file : std::string(kDefaultAgentConfig);
  auto text = read_file(file, kMaxYamlBytes);
  if (!text && !named && text.error().code == ErrorCode::NotFound) {
    return AgentConfig{};
  }
  if (!text) {
    return fail("configuration", text.error());
  }
  return parse_agent_config(file, *text);
}

}  // namespace

Result<AgentConfig> parse_agent_config(const std::string& file, std::string_view text) {
  auto root = YamlMap::parse(file, text);
  if (!root) {
    return tl::unexpected(root.error());
  }
  AgentConfig config;
  read_node(*root, config);
  root->path("host_root", config.host_root);
  root->path("state_directory", config.state_directory);
  if (root->has("expected_gpus")) {
    std::int64_t number = 0;
    root->integer("expected_gpus", 0, kMaxExpectedGpus, number);
    config.expected_gpus = static_cast<std::uint32_t>(number);
  }

  YamlMap aggregator = root->map("aggregator");
  read_address(aggregator, config.aggregator);
  aggregator.text("server_name", config.aggregator.server_name);
  aggregator.path("ca", config.aggregator.tls.ca);
  aggregator.path("certificate", config.aggregator.tls.certificate);
  aggregator.path("key", config.aggregator.tls.key);
  aggregator.path("token_file", config.aggregator.token_file);

  read_labels(root->map("labels"), config.labels);

  YamlMap intervals = root->map("intervals");
  intervals.duration("heartbeat", kMinInterval, kMaxHeartbeat, config.heartbeat);
  intervals.duration("poll", kMinInterval, kMaxPoll, config.poll);

  std::string level(to_string(config.log_level));
  YamlMap log = root->map("log");
  log.choice("level", {"error", "warning", "info", "debug"}, level);
  if (const auto read = root->finish(); !read) {
    return tl::unexpected(read.error());
  }
  config.log_level = parse_log_level(level).value_or(config.log_level);
  return config;
}

Result<AgentConfig> load_agent_config(const AgentCommandLine& line, std::string_view node_from_environment) {
  auto config = config_of_file(line);
  if (!config) {
    return config;
  }
  if (auto applied = apply_flags(line, *config); !applied) {
    return tl::unexpected(applied.error());
  }
  AggregatorConfig& aggregator = config->aggregator;
  const bool has_certificate = !aggregator.tls.certificate.empty() || !aggregator.tls.key.empty();
  if (has_certificate && !aggregator.token_file.empty()) {
    return fail(ErrorCode::Malformed,
                "aggregator.token_file (--token-file) and aggregator.certificate are two identities: set one of them");
  }
  if (aggregator.address && aggregator.server_name.empty()) {
    aggregator.server_name = aggregator.address->host;
  }
  std::string_view origin = line.node ? "--node" : "node";
  if (config->node.empty() && !node_from_environment.empty()) {
    config->node = node_from_environment;
    origin = "$NODE_NAME";
  }
  if (config->node.empty()) {
    return config;
  }
  if (const auto good = check_node(config->node); !good) {
    return fail(origin, good.error());
  }
  return config;
}

Result<std::string> node_name(const AgentConfig& config, const HostRoot& root) {
  if (!config.node.empty()) {
    return config.node;
  }
  std::string tried;
  for (const std::string_view path : {kHostNameFile, kKernelHostName}) {
    auto text = root.read(path);
    if (!text) {
      tried += (tried.empty() ? "" : "; ") + text.error().what;
      continue;
    }
    std::string name = text->substr(0, text->find('\n'));
    name.erase(0, std::min(name.size(), name.find_first_not_of(" \t\r")));
    name.erase(name.find_last_not_of(" \t\r") + 1);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name.empty()) {
      tried += (tried.empty() ? "" : "; ") + std::string(path) + " is empty";
      continue;
    }
    if (const auto good = check_node(name); !good) {
      return fail(path, good.error());
    }
    return name;
  }
  return fail(ErrorCode::NotFound, "this node has no name (set node: or --node): " + tried);
}

}  // namespace gpuskew
