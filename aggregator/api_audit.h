#pragma once

// Does the driver image that each node needs exist?

#include "aggregator/api.h"

namespace gpuskew {

/// 409 when there is no matrix to compare with.
HttpResponse audit_response(const ApiSources& sources);

}  // namespace gpuskew
