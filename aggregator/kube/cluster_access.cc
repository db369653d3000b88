#include "aggregator/kube/cluster_access.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace gpuskew {
namespace {

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

Result<KubeAccess> cluster_access(const KubernetesConfig& config) {
  if (!config.kubeconfig) {
    return in_cluster_access(environment);
  }
  Result<KubeAccess> access = kubeconfig_access({*config.kubeconfig});
  if (access && access->exec) {
    return fail(ErrorCode::Unsupported, config.kubeconfig->string() +
                                            ": its user has an exec plugin, and the aggregator runs no programs: "
                                            "give it a token file or a client certificate");
  }
  return access;
}

}  // namespace gpuskew
