#pragma once

// Which driver image would each node need under another kernel, and does it exist?

#include <string_view>

#include "aggregator/fleet_sources.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// `kernel`, raw or in label form; "" is each node's own next kernel. Of one node, or of all that an audit takes when
/// `node` is empty. {"kernel","result","matrix","nodes":[{"name","kernel","tag","verdict","why","notes"}]}; a matrix
/// that is not there makes every verdict unknown. 400 for a kernel no tag can hold, 404 for a node that never reported.
HttpResponse forecast_response(const FleetSources& sources, std::string_view kernel, std::string_view node);

}  // namespace gpuskew
