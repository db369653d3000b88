#include "aggregator/cli/source_flags.h"

#include <array>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

/// "" counts as not set.
std::string variable(const EnvVars& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

void set_server(const SourceFlags& flags, const EnvVars& environment, ServerOptions& server) {
  struct Setting {
    const std::optional<std::string>& flag;
    std::string_view variable;
    std::string& value;
  };
  const std::array<Setting, 5> settings{{{flags.server, "GPUSKEW_SERVER", server.url},
                                         {flags.ca, "GPUSKEW_CA", server.ca},
                                         {flags.certificate, "GPUSKEW_CERT", server.certificate},
                                         {flags.key, "GPUSKEW_KEY", server.key},
                                         {flags.token_file, "GPUSKEW_TOKEN_FILE", server.token_file}}};
  for (const Setting& setting : settings) {
    const std::string from_environment = variable(environment, setting.variable);
    if (setting.flag) {
      setting.value = *setting.flag;
    } else if (!from_environment.empty()) {
      setting.value = from_environment;
    }
  }
}

std::optional<Answer> check_cluster_flags(const SourceFlags& flags) {
  const std::array<std::pair<std::string_view, bool>, 5> servers{{{"--server", flags.server.has_value()},
                                                                  {"--ca", flags.ca.has_value()},
                                                                  {"--cert", flags.certificate.has_value()},
                                                                  {"--key", flags.key.has_value()},
                                                                  {"--token-file", flags.token_file.has_value()}}};
  for (const auto& [name, is_given] : servers) {
    if (is_given) {
      return no_answer(std::string(name) + " is for an aggregator, and " +
                       (flags.kubeconfig ? "--kubeconfig" : "--context") + " for a cluster without one: leave one out");
    }
  }
  if (flags.kubeconfig && flags.kubeconfig->empty()) {
    return no_answer("--kubeconfig names no file");
  }
  return std::nullopt;
}

/// What an aggregator decides by its own configuration.
std::optional<Answer> check_aggregator_flags(const Options& options) {
  if (options.matrix) {
    return no_answer(
        "--matrix is for a cluster that is asked without an aggregator (--kubeconfig); an aggregator has its own "
        "matrix "
        "(matrix.file)");
  }
  const bool has_rules = options.tag_parts.driver_part || options.tag_parts.operator_version;
  if (has_rules && !(options.command == Command::Tag && options.node.empty())) {
    return no_answer(
        "--driver-part and --operator-version are for a cluster that is asked without an aggregator "
        "(--kubeconfig); an aggregator has its own (tag.driver_part, tag.operator_version)");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Answer> choose_source(const SourceFlags& flags, const EnvVars& environment, Options& options) {
  const std::string kubeconfig = variable(environment, "KUBECONFIG");
  const bool is_asked_for = flags.kubeconfig || flags.context;
  const bool has_server = flags.server || !variable(environment, "GPUSKEW_SERVER").empty();
  if (is_asked_for) {
    if (auto wrong = check_cluster_flags(flags)) {
      return wrong;
    }
  }
  set_server(flags, environment, options.server);
  if (!is_asked_for && (has_server || kubeconfig.empty())) {
    return check_aggregator_flags(options);
  }
  ClusterOptions cluster;
  cluster.is_one_file = flags.kubeconfig.has_value();
  cluster.kubeconfig = flags.kubeconfig.value_or(kubeconfig);
  cluster.context = flags.context.value_or("");
  cluster.home = variable(environment, "HOME");
  options.cluster = std::move(cluster);
  return std::nullopt;
}

}  // namespace gpuskew
