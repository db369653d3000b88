#pragma once

// What can be wrong with a configuration that reads well: the rules between its values, and everything it names on
// this machine. `--check-config` prints these; a start refuses on the same.

#include <string>
#include <vector>

#include "aggregator/config.h"

namespace gpuskew {

/// The rules that need no other file: addresses parse, and the API is not offered to a network by accident. One line a
/// problem.
std::vector<std::string> rule_problems(const Config& config);

/// rule_problems, and by the same code as a start: certificates load and match their keys, the token file and the
/// matrix parse, the database can be used. Creates and changes nothing.
std::vector<std::string> all_problems(const Config& config);

/// What is allowed but unwise ("key ... can be read by every user").
std::vector<std::string> warnings(const Config& config);

}  // namespace gpuskew
