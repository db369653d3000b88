#pragma once

// Arguments and environment to options. Nothing is read or asked here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aggregator/cli/answer.h"
#include "aggregator/cli/api_client.h"
#include "aggregator/cli/cluster_options.h"
#include "aggregator/cli/screen.h"
#include "aggregator/cli/tag_parts.h"

namespace gpuskew {

enum class Command : std::uint8_t { Status, Nodes, Findings, Explain, Tag, Audit, Forecast, Report, History, Version };

enum class Format : std::uint8_t { Table, Wide, Json, Yaml, Csv };

/// Empty lists and names take everything.
struct NodeFilter {
  std::vector<std::string> states;
  std::string kernel;
};

struct FindingFilter {
  std::vector<std::string> severities;
  std::vector<std::string> codes;
  std::string node;
};

struct ForecastQuestion {
  std::string kernel;              ///< "" is each node's next
  std::vector<std::string> nodes;  ///< empty: all
};

struct Options {
  /// The API's own limit.
  static constexpr std::size_t kMaxHistory = 10'000;
  static constexpr std::size_t kDefaultHistory = 200;

  Command command{};
  Format format = Format::Table;
  ColorChoice color = ColorChoice::Auto;
  ServerOptions server;
  std::optional<ClusterOptions> cluster;  ///< asked instead of the server
  std::string node;                       ///< of explain, tag, history and report; "" for a tag made of parts
  NodeFilter nodes;
  FindingFilter findings;
  std::size_t history_limit = kDefaultHistory;
  TagParts tag_parts;
  std::optional<std::string> matrix;  ///< a file, only where a cluster is asked
  ForecastQuestion forecast;
};

/// The environment variables that are read: GPUSKEW_{SERVER,CA,CERT,KEY,TOKEN_FILE}, KUBECONFIG where no aggregator is
/// named, and HOME. An empty one counts as not set, and a flag wins. The answer is a help text (exit code 0) or what is
/// wrong with the arguments (2).
std::variant<Options, Answer> parse_command_line(const std::vector<std::string>& arguments, const EnvVars& environment);

}  // namespace gpuskew
