#pragma once

#include "aggregator/config.h"
#include "core/result.h"
#include "runtime/kube/access.h"

namespace gpuskew {

/// Which API server, and as whom: the kubeconfig that is configured, else this pod's service account. Unsupported for a
/// kubeconfig with an exec plugin: the aggregator runs no programs.
Result<KubeAccess> cluster_access(const KubernetesConfig& config);

}  // namespace gpuskew
