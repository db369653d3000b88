#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/cli/reply.h"

namespace gpuskew {

/// Reads a snapshot's JSON. The first field that is missing or of another type is set in `error`.
NodeFacts read_node_facts(const nlohmann::ordered_json& snapshot, std::optional<Error>& error);

}  // namespace gpuskew
