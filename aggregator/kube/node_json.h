#pragma once

// A Node object of the Kubernetes API as a value.

#include <nlohmann/json_fwd.hpp>

#include "core/kube/cluster_node.h"
#include "core/result.h"

namespace gpuskew {

/// Takes what it knows and leaves the rest; a field of another type than the API's is one that is not there. Malformed
/// for an object without a name.
Result<ClusterNode> cluster_node_from_json(const nlohmann::json& object);

}  // namespace gpuskew
