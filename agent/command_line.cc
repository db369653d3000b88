#include "agent/command_line.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "agent/config.h"

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
  gpuskew-agent check
      Judges this node by itself: 0 good, 1 findings, 2 could not tell.
  gpuskew-agent check --wait 10m --only-critical
      The same as a gate after a boot: waits while a driver may still come, and lets warnings pass.
  gpuskew-agent check --next-boot
      What a reboot now would do to the GPU: 0 keeps it (or there is none), 1 loses it, 2 cannot tell.
  gpuskew-agent check --next-boot --expect-gpu --host-root /mnt/image
      The same for an image that was just built and never booted.
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
  expected_gpus: 8                        # default: as many as were ever seen
  aggregator:
    address: gpuskew.example:7481
    server_name: gpuskew.example          # default: the host of address
    ca: /etc/gpuskew/ca.pem
    certificate: /etc/gpuskew/node.pem    # must name the node
    key: /etc/gpuskew/node.key
  labels: {publish: api}                  # on the Kubernetes Node; nfd: by a feature file; default: none
  intervals: {heartbeat: 30s, poll: 15s}
  log: {level: info}                      # error, warning, info, debug

Signals: SIGHUP reads the configuration and the certificates again; SIGTERM stops.
Exit codes: 0 fine, 1 findings (check), 2 could not do what was asked, or could not tell (the reason is on standard error,
or in the verdict).)";

void add_flags(CLI::App& app, AgentCommandLine& line) {
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
  option("--token-file", line.token_file, "FILE", "in a cluster: this pod's service account token, instead of both");
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

std::optional<std::string> contradiction(const AgentCommandLine& line) {
  if (line.check_config && line.once) {
    return "--check-config and --once exclude each other";
  }
  if (line.next_boot && line.only_critical) {
    return "--next-boot and --only-critical exclude each other";
  }
  if (line.command != AgentCommand::Run && (line.check_config || line.once)) {
    return std::string(line.once ? "--once" : "--check-config") + " does not go with " +
           (line.command == AgentCommand::Facts ? "facts" : "check");
  }
  return std::nullopt;
}

}  // namespace

std::variant<AgentCommandLine, CommandLineEnd> parse_agent_command_line(int argc, const char* const* argv) {
  AgentCommandLine line;
  CLI::App app(kDescription, "gpuskew-agent");
  app.footer(kExamples);
  app.set_version_flag("--version", std::string(GPUSKEW_VERSION));
  app.require_subcommand(0, 1);
  add_flags(app, line);
  app.add_subcommand("run", "Stream this node's facts to the aggregator (what happens without a command)")
      ->fallthrough();
  CLI::App* facts = app.add_subcommand("facts", "Print this node's facts, each with its source")->fallthrough();
  facts->add_flag("--json", line.json, "For programs; the default is for people");
  CLI::App* check =
      app.add_subcommand("check", "Judge this node by itself, or what its next boot would bring")->fallthrough();
  check->add_flag("--next-boot", line.next_boot, "Only what a reboot now would do to the GPU");
  check->add_flag("--only-critical", line.only_critical, "Warnings are told and do not count");
  check->add_flag("--expect-gpu", line.expect_gpu, "This node has a GPU: finding none is a finding");
  check->add_flag("--json", line.json, "For programs; the default is for people");
  check->add_option("--wait", line.wait, "Read again until there is an answer, for this long at most (30s, 10m)")
      ->type_name("DURATION");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of(app, error);
  }
  line.command = facts->parsed() ? AgentCommand::Facts : check->parsed() ? AgentCommand::Check : AgentCommand::Run;
  if (const auto wrong = contradiction(line)) {
    return CommandLineEnd{kExitUsage, "gpuskew-agent: " + *wrong + "\n"};
  }
  return line;
}

}  // namespace gpuskew
