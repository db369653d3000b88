#pragma once

// What the API says of the fleet and its nodes, from memory alone.

#include <string_view>

#include "aggregator/fleet_sources.h"
#include "aggregator/store_health.h"
#include "core/time.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// `history` is nullptr where none is kept.
HttpResponse status_response(const FleetSources& sources, const StoreHealth* history, Time now);
HttpResponse nodes_response(const FleetSources& sources);
/// 404 for a node that never reported.
HttpResponse node_response(const FleetSources& sources, std::string_view name);
/// Critical first, then the oldest, then by node.
HttpResponse findings_response(const Fleet& fleet);

}  // namespace gpuskew
