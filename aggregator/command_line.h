#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "aggregator/config.h"
#include "core/result.h"
#include "runtime/command_line_end.h"

namespace gpuskew {

inline constexpr std::string_view kDefaultConfigFile = "/etc/gpuskew/aggregator.yaml";

struct AggregatorCommandLine {
  std::filesystem::path config_file = kDefaultConfigFile;
  bool check_config = false;
  bool dry_run = false;  ///< as kubernetes.acting.dry_run
  // Each wins over the file's value.
  std::optional<std::string> listen_agents;
  std::optional<std::string> listen_api;
  std::optional<std::filesystem::path> database;
};

std::variant<AggregatorCommandLine, CommandLineEnd> parse_aggregator_command_line(int argc, const char* const* argv);

/// The configuration file with the flags laid over it.
Result<Config> load_config(const AggregatorCommandLine& line);

}  // namespace gpuskew
