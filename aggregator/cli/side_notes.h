#pragma once

// What stands on standard error beside an answer about images: the nodes whose image is unknown, and what is to be
// known of the others.

#include <cstddef>
#include <string>
#include <vector>

#include "aggregator/cli/reply.h"

namespace gpuskew {

/// So many nodes are named with what their own words contradict; the others are counted.
inline constexpr std::size_t kShownContradictions = 10;

/// "NODE UNKNOWN why" for each node that is neither ok nor missing.
std::string unknown_lines(const std::vector<AuditRow>& rows);
/// "note: NODE: ..." for what a tag's rules say of it.
std::string tag_note_lines(const std::vector<AuditRow>& rows);
/// The same for what the Kubernetes API's words on a node contradict in themselves.
std::string contradiction_lines(const std::vector<AuditRow>& rows);

}  // namespace gpuskew
