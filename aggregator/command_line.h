#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "aggregator/config.h"
#include "core/result.h"

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

/// The command line asked for nothing that runs: help or version (code 0, for stdout), or a mistake (2, for stderr).
struct AggregatorCommandLineEnd {
  int code = 0;
  std::string text;
};

std::variant<AggregatorCommandLine, AggregatorCommandLineEnd> parse_aggregator_command_line(int argc,
                                                                                            const char* const* argv);

/// The configuration file with the flags laid over it.
Result<Config> load_config(const AggregatorCommandLine& line);

}  // namespace gpuskew
