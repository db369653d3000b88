#include "aggregator/config_check.h"

#include <utility>

#include <fmt/format.h>

#include "aggregator/api_auth.h"
#include "aggregator/history_store.h"
#include "aggregator/kube/cluster_access.h"
#include "aggregator/matrix_file.h"
#include "runtime/resolve.h"
#include "runtime/tls.h"

namespace gpuskew {

namespace {

template <class T>
void note(std::vector<std::string>& problems, std::string_view key, const Result<T>& result) {
  if (!result) {
    problems.push_back(fmt::format("{}: {}", key, result.error().what));
  }
}

void check_exposure(const ApiConfig& api, bool takes_cluster_tokens, std::vector<std::string>& problems) {
  Result<asio::ip::tcp::endpoint> endpoint = parse_listen_address(api.listen);
  note(problems, "api.listen", endpoint);
  if (!endpoint || endpoint->address().is_loopback()) {
    return;
  }
  if (!api.tls) {
    problems.push_back(fmt::format(
        "api.listen: {} is not a loopback address and api.certificate is not set: over a network the API needs TLS",
        api.listen));
  }
  const bool asks = api.token_file || (api.tls && !api.tls->ca.empty()) || takes_cluster_tokens;
  if (!asks && !api.allow_anonymous) {
    problems.push_back(fmt::format(
        "api.listen: {} is not a loopback address and anyone could read the API: set api.token_file, api.client_ca "
        "or kubernetes.api_tokens, or api.allow_anonymous: true",
        api.listen));
  }
}

}  // namespace

std::vector<std::string> rule_problems(const Config& config) {
  std::vector<std::string> problems;
  note(problems, "agents.listen", parse_listen_address(config.agents.listen));
  if (config.kubernetes.enabled && config.kubernetes.api_tokens && config.api.token_file) {
    problems.push_back("api.token_file and kubernetes.api_tokens are two ways to say who may ask: set one of them");
  }
  check_exposure(config.api, config.kubernetes.enabled && config.kubernetes.api_tokens, problems);
  return problems;
}

std::vector<std::string> all_problems(const Config& config) {
  std::vector<std::string> problems = rule_problems(config);
  note(problems, "agents", TlsContext::server(config.agents.tls));
  if (config.kubernetes.enabled) {
    note(problems, "kubernetes", cluster_access(config.kubernetes));
  }
  if (config.api.tls) {
    note(problems, "api", TlsContext::server(*config.api.tls));
  }
  if (config.api.token_file) {
    note(problems, "api.token_file", load_token(*config.api.token_file));
  }
  note(problems, "history.path", HistoryStore::check(config.history.path));
  if (config.matrix_file) {
    note(problems, "matrix.file", load_matrix(*config.matrix_file));
  }
  return problems;
}

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> found;
  if (std::optional<std::string> agents = key_permission_warning(config.agents.tls)) {
    found.push_back("agents.key: " + *agents);
  }
  if (config.api.tls) {
    if (std::optional<std::string> api = key_permission_warning(*config.api.tls)) {
      found.push_back("api.key: " + *api);
    }
  }
  return found;
}

}  // namespace gpuskew
