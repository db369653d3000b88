#pragma once

// Does the driver image that each node needs exist?

#include <string_view>

#include "aggregator/fleet_sources.h"
#include "core/fleet.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// Of one node, or of all when `node` is empty. 409 when there is no matrix to compare with, 404 for a node that never
/// reported.
HttpResponse audit_response(const FleetSources& sources, std::string_view node = {});

/// A node that takes no driver image: without a GPU and a driver, or with one of another kind (Jetson, passthrough). A
/// node that may take one is not: unknown is not fine. Where only the cluster was asked, the nodes without any sign of
/// a GPU are outside.
bool is_outside_audit(const FleetSources& sources, const NodeRecord& record);

}  // namespace gpuskew
