#pragma once

// What the API says of the fleet and its nodes, from memory alone.

#include <string_view>

#include "aggregator/api.h"

namespace gpuskew {

HttpResponse status_response(const ApiSources& sources, Time now);
HttpResponse nodes_response(const Fleet& fleet);
/// 404 for a node that never reported.
HttpResponse node_response(const Fleet& fleet, std::string_view name);
/// Critical first, then the oldest, then by node.
HttpResponse findings_response(const Fleet& fleet);

}  // namespace gpuskew
