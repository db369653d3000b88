#pragma once

// The parts of a tag, and the rules for making one, as the command line gives them.

#include <optional>
#include <string>

#include "core/result.h"
#include "core/tag.h"

namespace gpuskew {

/// The parts of a tag as given on the command line; nullopt: not given.
struct TagParts {
  std::optional<std::string> kernel;
  std::optional<std::string> os;
  std::optional<std::string> os_version;
  std::optional<std::string> driver;
  std::optional<std::string> operator_version;
  std::optional<std::string> driver_part;
};

/// --driver-part and --operator-version; the defaults where they are not given. Errors name the flag.
Result<TagPolicy> policy_of(const TagParts& parts);
/// Every part that is missing or malformed is named, not only the first.
Result<Tag> tag_of_parts(const TagParts& parts);

}  // namespace gpuskew
