#pragma once

// The command line -> a plain struct.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "runtime/command_line_end.h"

namespace gpuskew {

enum class AgentCommand : std::uint8_t { Run, Facts, Check };

/// The command line as it was given: nullopt where a flag was not.
struct AgentCommandLine {
  AgentCommand command = AgentCommand::Run;
  bool check_config = false;
  bool once = false;
  bool json = false;
  bool next_boot = false;      ///< check: judge only that
  bool only_critical = false;  ///< check: warnings do not count
  bool expect_gpu = false;     ///< check: a node without a GPU is a finding
  std::optional<std::string> wait;
  std::optional<std::string> config_file;
  std::optional<std::string> node;
  std::optional<std::string> host_root;
  std::optional<std::string> state_directory;
  std::optional<std::string> aggregator;
  std::optional<std::string> server_name;
  std::optional<std::string> ca;
  std::optional<std::string> certificate;
  std::optional<std::string> key;
  std::optional<std::string> token_file;
};

std::variant<AgentCommandLine, CommandLineEnd> parse_agent_command_line(int argc, const char* const* argv);

}  // namespace gpuskew
