#pragma once

// Core values as the database's text columns.

#include <map>
#include <string>
#include <string_view>

#include "core/finding.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

/// A JSON object, finding code to Unix milliseconds: {"driver-not-loaded":1796054737123}.
std::string open_since_text(const std::map<FindingCode, Time>& open);
/// Codes this version does not know are left out. Errors: Malformed.
Result<std::map<FindingCode, Time>> open_since_from(std::string_view text);

}  // namespace gpuskew
