#include "aggregator/command_line.h"

#include <sstream>

#include <CLI/CLI.hpp>

namespace gpuskew {

namespace {

constexpr const char* kDescription =
    "Takes the facts that gpuskew-agent streams from every node, judges them, keeps their history, and answers\n"
    "`gpuskew`, Prometheus and anything else that reads its JSON API.\n";

constexpr const char* kFooter = R"(
A configuration that is enough (examples/aggregator.yaml in the documentation has every key with its default):

  agents:
    certificate: /etc/gpuskew/aggregator.crt   # shown to agents
    key: /etc/gpuskew/aggregator.key
    client_ca: /etc/gpuskew/agents-ca.crt      # signs agents' certificates; each names its node
  history:
    path: /var/lib/gpuskew/history.db
  matrix:
    file: /etc/gpuskew/support-matrix.csv      # optional: driver_branch,kernel,os_tag

The API then listens on 127.0.0.1:7480 without TLS. To offer it to a network, set api.listen, api.certificate, api.key
and api.token_file or api.client_ca.

Examples:
  gpuskew-aggregator --check-config && systemctl reload gpuskew-aggregator
  gpuskew-aggregator --config ./test.yaml --database /tmp/history.db --listen-agents 127.0.0.1:0

Signals: SIGHUP reads matrix, tag, judge, log, certificates and token again (what is broken is logged, the old stays);
SIGTERM and SIGINT stop in order. Exit codes: 0 stopped or nothing wrong, 2 could not start or a problem was found.)";

}  // namespace

std::variant<AggregatorCommandLine, CommandLineEnd> parse_aggregator_command_line(int argc, const char* const* argv) {
  AggregatorCommandLine line;
  CLI::App app(kDescription, "gpuskew-aggregator");
  app.footer(kFooter);
  app.set_version_flag("--version", "gpuskew-aggregator " GPUSKEW_VERSION);
  app.add_option("--config", line.config_file, "Configuration file")->type_name("FILE")->capture_default_str();
  app.add_flag("--check-config", line.check_config,
               "Read the configuration and everything it names, print one line a problem, change nothing, and exit");
  app.add_flag("--dry-run", line.dry_run,
               "Write nothing to the cluster, log what kubernetes.acting would do (as kubernetes.acting.dry_run)");
  app.add_option("--listen-agents", line.listen_agents, "Take agents' streams here, not at agents.listen; port 0: any")
      ->type_name("ADDRESS:PORT");
  app.add_option("--listen-api", line.listen_api, "Answer the API here, not at api.listen; port 0: any")
      ->type_name("ADDRESS:PORT");
  app.add_option("--database", line.database, "Keep the history here, not at history.path")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    std::ostringstream out;
    std::ostringstream error;
    const bool is_mistake = app.exit(end, out, error) != 0;
    return CommandLineEnd{is_mistake ? 2 : 0, is_mistake ? error.str() : out.str()};
  }
  return line;
}

Result<Config> load_config(const AggregatorCommandLine& line) {
  Result<Config> config = load_config(line.config_file);
  if (!config) {
    return config;
  }
  config->agents.listen = line.listen_agents.value_or(config->agents.listen);
  config->api.listen = line.listen_api.value_or(config->api.listen);
  config->history.path = line.database.value_or(config->history.path);
  config->kubernetes.acting_dry_run = config->kubernetes.acting_dry_run || line.dry_run;
  return config;
}

}  // namespace gpuskew
