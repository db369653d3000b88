#include "tests/e2e/stack.h"

#include <stdexcept>

namespace gpuskew {
namespace {

CertificateSpec server_certificate() {
  CertificateSpec spec;
  spec.common_name = "aggregator";
  spec.dns_names = {"localhost"};
  spec.ip_addresses = {"127.0.0.1"};
  return spec;
}

}  // namespace

std::filesystem::path program(std::string_view name) {
  return std::filesystem::path(GPUSKEW_BIN_DIR) / name;
}

Stack::Stack()
    : authority_(directory_.path(), "test"),
      server_files_(authority_.issue("aggregator", server_certificate())),
      config_file_(directory_.path() / "aggregator.yaml") {
  write_config();
}

void Stack::configure(std::string_view sections) {
  sections_ = sections;
  write_config();
}

void Stack::write_config() const {
  write_file(config_file_, "agents:\n  listen: " + stream_address_ + "\n  certificate: " +
                               server_files_.certificate.string() + "\n  key: " + server_files_.key.string() +
                               "\n  client_ca: " + authority_.ca_file().string() + "\napi:\n  listen: " + api_address_ +
                               "\nhistory:\n  path: " + (directory() / "history.db").string() + "\n" + sections_);
}

void Stack::start_aggregator(const Environment& environment) {
  write_config();
  aggregator_ = Process::start({program("gpuskew-aggregator"), "--config", config_file_}, environment);
  stream_address_ = field_of(aggregator_->wait_for_line("listening for agents"), "address");
  api_address_ = field_of(aggregator_->wait_for_line("listening for API requests"), "address");
}

void Stack::kill_aggregator() {
  aggregator_->signal(SIGKILL);
  aggregator_->wait();
}

TlsFiles Stack::agent_files(std::string_view node) {
  CertificateSpec spec;
  spec.common_name = "agent";
  spec.dns_names = {std::string(node)};
  return authority_.issue("agent-" + std::string(node), spec);
}

std::filesystem::path Stack::state_directory(std::string_view node) const {
  return directory() / "state" / node;
}

std::vector<std::string> Stack::agent_command(std::string_view node, const HostTree& tree,
                                              std::initializer_list<std::string> more) {
  return agent_command(node, tree, agent_files(node), more);
}

std::vector<std::string> Stack::agent_command(std::string_view node, const HostTree& tree, const TlsFiles& files,
                                              std::initializer_list<std::string> more) {
  return agent_command_as({"--ca", files.ca, "--certificate", files.certificate, "--key", files.key}, node, tree, more);
}

std::vector<std::string> Stack::token_agent_command(std::string_view node, const HostTree& tree,
                                                    const std::filesystem::path& token_file,
                                                    std::initializer_list<std::string> more) {
  return agent_command_as({"--ca", authority_.ca_file(), "--token-file", token_file}, node, tree, more);
}

std::vector<std::string> Stack::agent_command_as(const std::vector<std::string>& identity, std::string_view node,
                                                 const HostTree& tree, std::initializer_list<std::string> more) {
  std::filesystem::create_directories(state_directory(node));
  // A configuration file with a fast poll: a fixture has no kernel to send events.
  const std::filesystem::path config = directory() / ("agent-" + std::string(node) + ".yaml");
  write_file(config, "intervals:\n  heartbeat: 1s\n  poll: 1s\n");
  std::vector<std::string> command{program("gpuskew-agent"),
                                   "run",
                                   "--config",
                                   config,
                                   "--node",
                                   std::string(node),
                                   "--host-root",
                                   tree.path(),
                                   "--state-directory",
                                   state_directory(node),
                                   "--aggregator",
                                   stream_address_,
                                   "--server-name",
                                   "localhost"};
  command.insert(command.end(), identity.begin(), identity.end());
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Process Stack::start_agent(std::string_view node, const HostTree& tree, std::initializer_list<std::string> more) {
  return Process::start(agent_command(node, tree, more));
}

void Stack::report_once(std::string_view node, const HostTree& tree) {
  const Outcome outcome = run(agent_command(node, tree, {"--once"}));
  if (outcome.code != 0) {
    throw std::runtime_error("gpuskew-agent --once: " + std::to_string(outcome.code) + "\n" + outcome.err);
  }
}

Outcome Stack::gpuskew(std::initializer_list<std::string> arguments) const {
  std::vector<std::string> command{program("gpuskew"), "--server", url()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command);
}

std::string Stack::get(std::string_view path) const {
  const Outcome outcome = run({"curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "20", url(path)});
  if (outcome.code != 0) {
    throw std::runtime_error("GET " + std::string(path) + ": " + outcome.err);
  }
  return outcome.out;
}

nlohmann::json Stack::get_json(std::string_view path) const {
  return nlohmann::json::parse(get(path));
}

nlohmann::json Stack::node(std::string_view node) const {
  nlohmann::json answer = get_json("/api/v1/nodes/" + std::string(node));
  return answer.contains("error") ? nlohmann::json() : answer;
}

nlohmann::json Stack::finding(std::string_view code, std::string_view node) const {
  const nlohmann::json answer = this->node(node);
  if (!answer.is_null()) {
    for (const nlohmann::json& finding : answer.at("findings")) {
      if (finding.at("code") == code) {
        return finding;
      }
    }
  }
  return {};
}

nlohmann::json Stack::await_finding(std::string_view code, std::string_view node) const {
  nlohmann::json found;
  eventually(std::string(node) + " has the finding " + std::string(code), [&] {
    found = finding(code, node);
    return !found.is_null();
  });
  return found;
}

void Stack::await_state(std::string_view state, std::string_view node) const {
  eventually(std::string(node) + " is " + std::string(state), [&] {
    const nlohmann::json answer = this->node(node);
    return !answer.is_null() && answer.at("state") == state;
  });
}

std::string evidence_of(const nlohmann::json& finding) {
  std::string text;
  for (const nlohmann::json& item : finding.at("evidence")) {
    text += item.at("text").get<std::string>() + " (" + item.at("source").get<std::string>() + ")\n";
  }
  return text;
}

}  // namespace gpuskew
