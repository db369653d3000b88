#pragma once

// An aggregator, agents and the command, as they are shipped, with certificates of their own.

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/host_tree.h"
#include "tests/support/certificates.h"
#include "tests/support/process.h"

namespace gpuskew {

std::filesystem::path program(std::string_view name);

class Stack {
 public:
  static constexpr std::string_view kNode = "gpu-node-1";

  /// Writes certificates and configuration; starts nothing.
  Stack();

  const std::filesystem::path& directory() const { return directory_.path(); }
  const CertificateAuthority& authority() const { return authority_; }

  /// Lines of YAML for whole sections beside agents, api and history; used by the next start or reload.
  void configure(std::string_view sections);
  const std::filesystem::path& config_file() const { return config_file_; }

  /// Starts (again) on the same addresses as before, and waits until it listens.
  void start_aggregator(const Environment& environment = {});
  void kill_aggregator();
  Process& aggregator() { return *aggregator_; }
  /// "127.0.0.1:PORT"
  const std::string& stream_address() const { return stream_address_; }
  std::string url(std::string_view path = "") const { return "http://" + api_address_ + std::string(path); }

  /// Makes an agent's certificate that names `node` (SAN), once.
  TlsFiles agent_files(std::string_view node);
  /// The agent's command line. Its state directory is one for each node.
  std::vector<std::string> agent_command(std::string_view node, const HostTree& tree,
                                         std::initializer_list<std::string> more = {});
  /// The same with another certificate.
  std::vector<std::string> agent_command(std::string_view node, const HostTree& tree, const TlsFiles& files,
                                         std::initializer_list<std::string> more = {});
  /// The same with a service account's token instead of a certificate.
  std::vector<std::string> token_agent_command(std::string_view node, const HostTree& tree,
                                               const std::filesystem::path& token_file,
                                               std::initializer_list<std::string> more = {});
  Process start_agent(std::string_view node, const HostTree& tree, std::initializer_list<std::string> more = {});
  /// Delivers one report and ends.
  void report_once(std::string_view node, const HostTree& tree);
  std::filesystem::path state_directory(std::string_view node) const;

  /// The on-call command against this aggregator.
  Outcome gpuskew(std::initializer_list<std::string> arguments) const;
  /// GET of the API, through curl; throws when it gave no answer.
  std::string get(std::string_view path) const;
  nlohmann::json get_json(std::string_view path) const;
  /// /api/v1/nodes/{node}; null when the node is not known.
  nlohmann::json node(std::string_view node = kNode) const;
  /// The node's finding with this code; null when it has none.
  nlohmann::json finding(std::string_view code, std::string_view node = kNode) const;
  /// Waits for the finding.
  nlohmann::json await_finding(std::string_view code, std::string_view node = kNode) const;
  /// Waits until the node is in this state.
  void await_state(std::string_view state, std::string_view node = kNode) const;

 private:
  void write_config() const;
  std::vector<std::string> agent_command_as(const std::vector<std::string>& identity, std::string_view node,
                                            const HostTree& tree, std::initializer_list<std::string> more);

  TemporaryDirectory directory_;
  CertificateAuthority authority_;
  TlsFiles server_files_;
  std::filesystem::path config_file_;
  std::string sections_;
  std::string stream_address_ = "127.0.0.1:0";
  std::string api_address_ = "127.0.0.1:0";
  std::optional<Process> aggregator_;
};

/// All of a finding's evidence in one text: "text (source)" a line.
std::string evidence_of(const nlohmann::json& finding);

}  // namespace gpuskew
