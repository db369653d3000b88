#pragma once

// Flags and environment to who is asked: an aggregator or a cluster.

#include <optional>
#include <string>

#include "aggregator/cli/answer.h"
#include "aggregator/cli/command_line.h"
#include "aggregator/cli/screen.h"

namespace gpuskew {

/// As given on the command line; nullopt: not given.
struct SourceFlags {
  std::optional<std::string> server;
  std::optional<std::string> ca;
  std::optional<std::string> certificate;
  std::optional<std::string> key;
  std::optional<std::string> token_file;
  std::optional<std::string> kubeconfig;
  std::optional<std::string> context;
};

/// Sets `options.server`, or `options.cluster` for --kubeconfig, --context, or a KUBECONFIG while no aggregator is
/// named. The answer is what is wrong: flags of both, or flags of a cluster for an aggregator.
std::optional<Answer> choose_source(const SourceFlags& flags, const EnvVars& environment, Options& options);

}  // namespace gpuskew
