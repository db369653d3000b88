#pragma once

// The first line of the agent's own state files: what it is, which format, how long, and a checksum. It finds a torn or
// edited file; the files are our own, so no stronger sum is needed.

#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

/// "gpuskew-<name> <version> <length> <checksum>\n" and the body. Neither name nor version holds a blank.
std::string sealed(std::string_view name, std::string_view version, std::string_view body);

/// The body, a part of `text`. Malformed: it is none of that name, or the seal does not fit. Unsupported: another
/// version.
Result<std::string_view> unsealed(std::string_view text, std::string_view name, std::string_view version);

}  // namespace gpuskew
