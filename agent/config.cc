#include "agent/config.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "agent/host_root.h"
#include "agent/paths.h"
#include "core/label.h"
#include "runtime/file.h"
#include "runtime/yaml.h"

namespace gpuskew {
namespace {

constexpr int kExitUsage = 2;

constexpr const char* kDescription =
    "Reads which kernel this node runs and which NVIDIA driver is really loaded, and streams it to "
    "gpuskew-aggregator.\n"
    "Never runs nvidia-smi, changes nothing on the node.";

constexpr const char* kExamples = R"(
Examples:
  gpuskew-agent facts
      What is known of this node, each fact with the file it came from. Needs no aggregator, no certificate.
  gpuskew-agent facts --json --host-root /host
      The same for programs, from inside a container that has the host mounted at /host.
  gpuskew-agent --config /etc/gpuskew/agent.yaml --check-config
      Would it run? One line a problem; exit 0 or 2. Files, certificates, host root and state directory are really tried.
  gpuskew-agent --aggregator gpuskew.example:7481 --ca ca.pem --certificate node.pem --key node.key
      Streams until it is stopped. No configuration file is needed.
  gpuskew-agent --config /etc/gpuskew/agent.yaml --once
      Delivers one report and ends: 0 when the aggregator took it, 2 when it did not within 20 s.

agent.yaml (a flag wins over it):
  node: gpu-node-1                        # default: $NODE_NAME, else the host's name
  host_root: /
  state_directory: /var/lib/gpuskew-agent
  aggregator:
    address: gpuskew.example:7481
    server_name: gpuskew.example          # default: the host of address
    ca: /etc/gpuskew/ca.pem
    certificate: /etc/gpuskew/node.pem    # must name the node
    key: /etc/gpuskew/node.key
  intervals: {heartbeat: 30s, poll: 15s}
  log: {level: info}                      # error, warning, info, debug

Signals: SIGHUP reads the configuration and the certificates again; SIGTERM stops.
Exit codes: 0 fine, 2 could not do what was asked (the reason is on standard error).)";

void add_flags(CLI::App& app, CommandLine& line) {
  const auto option = [&app](const char* name, std::optional<std::string>& into, const char* kind,
                             const std::string& meaning) { app.add_option(name, into, meaning)->type_name(kind); };
  option("--config", line.config_file, "FILE",
         "Configuration file (default: " + std::string(kDefaultAgentConfig) + ", when it is there)");
  app.add_flag("--check-config", line.check_config, "Try everything the configuration names, say what is wrong, end");
  app.add_flag("--once", line.once, "Deliver one report, wait until it is acknowledged, end");
  option("--node", line.node, "NAME", "This node's name, as its certificate and Kubernetes have it");
  option("--host-root", line.host_root, "DIR", "Where the host's files are: / or, in a container, /host");
  option("--state-directory", line.state_directory, "DIR", "Where the last good state is kept across boots");
  option("--aggregator", line.aggregator, "HOST:PORT", "The aggregator's address for agents");
  option("--server-name", line.server_name, "NAME", "Name the aggregator's certificate must have (default: HOST)");
  option("--ca", line.ca, "FILE", "PEM file of the CA that signed the aggregator's certificate");
  option("--certificate", line.certificate, "FILE", "PEM file of this node's certificate");
  option("--key", line.key, "FILE", "PEM file of this node's private key");
}

// CLI11 raises help, version and mistakes alike; only here are they told apart.
CommandLineEnd end_of(const CLI::App& app, const CLI::ParseError& error) {
  const auto* asked = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
    return {0, asked->help()};
  }
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    return {0, "gpuskew-agent " GPUSKEW_VERSION "\n"};
  }
  return {kExitUsage, "gpuskew-agent: " + std::string(error.what()) + " (--help shows how it is used)\n"};
}

std::optional<std::string> contradiction(const CommandLine& line) {
  if (line.check_config && line.once) {
    return "--check-config and --once exclude each other";
  }
  if (line.command == AgentCommand::Facts && (line.check_config || line.once)) {
    return std::string(line.once ? "--once" : "--check-config") + " does not go with facts";
  }
  return std::nullopt;
}

}  // namespace

std::variant<CommandLine, CommandLineEnd> parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app(kDescription, "gpuskew-agent");
  app.footer(kExamples);
  app.set_version_flag("--version", std::string(GPUSKEW_VERSION));
  app.require_subcommand(0, 1);
  add_flags(app, line);
  app.add_subcommand("run", "Stream this node's facts to the aggregator (what happens without a command)")
      ->fallthrough();
  CLI::App* facts = app.add_subcommand("facts", "Print this node's facts, each with its source")->fallthrough();
  facts->add_flag("--json", line.json, "For programs; the default is for people");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of(app, error);
  }
  line.command = facts->parsed() ? AgentCommand::Facts : AgentCommand::Run;
  if (const auto wrong = contradiction(line)) {
    return CommandLineEnd{kExitUsage, "gpuskew-agent: " + *wrong + "\n"};
  }
  return line;
}

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

template <class To>
void override_with(const std::optional<std::string>& flag, To& into) {
  if (flag) {
    into = *flag;
  }
}

Result<void> apply_flags(const CommandLine& line, AgentConfig& config) {
  const std::pair<const std::optional<std::string>*, std::string_view> needed[] = {
      {&line.node, "--node"},
      {&line.host_root, "--host-root"},
      {&line.state_directory, "--state-directory"},
      {&line.ca, "--ca"},
      {&line.certificate, "--certificate"},
      {&line.key, "--key"},
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
  override_with(line.server_name, config.aggregator.server_name);
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

Result<AgentConfig> config_of_file(const CommandLine& line) {
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

  YamlMap aggregator = root->map("aggregator");
  read_address(aggregator, config.aggregator);
  aggregator.text("server_name", config.aggregator.server_name);
  aggregator.path("ca", config.aggregator.tls.ca);
  aggregator.path("certificate", config.aggregator.tls.certificate);
  aggregator.path("key", config.aggregator.tls.key);

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

Result<AgentConfig> load_agent_config(const CommandLine& line, std::string_view node_from_environment) {
  auto config = config_of_file(line);
  if (!config) {
    return config;
  }
  if (auto applied = apply_flags(line, *config); !applied) {
    return tl::unexpected(applied.error());
  }
  AggregatorConfig& aggregator = config->aggregator;
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
