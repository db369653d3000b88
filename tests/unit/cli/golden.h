#pragma once

// The replies and texts under golden/: what the aggregator says, and what the command makes of it.

#include <string>

#include <nlohmann/json.hpp>

#include "aggregator/cli/screen.h"
#include "core/time.h"
#include "tests/unit/cli/http_imposter.h"

namespace gpuskew {

/// The moment all golden replies are from: 2026-11-30T16:05:37Z.
Time golden_now();

/// The whole file; throws when it can not be read.
std::string golden_text(const std::string& name);
nlohmann::ordered_json golden_json(const std::string& name);

/// Neither a terminal nor color.
inline const Screen kPipe{};

/// Answers every path of the API from the golden replies.
void play_aggregator(HttpImposter& imposter);

}  // namespace gpuskew
