#pragma once

// What we write to a cluster's nodes, as bodies of requests, and what of it is there. Pure.

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/acting.h"
#include "core/time.h"

namespace gpuskew {

/// Events of nodes are in this namespace: nodes have none.
inline constexpr std::string_view kNodeEventsNamespace = "default";
/// Who reports, in an Event.
inline constexpr std::string_view kEventReporter = "gpuskew-aggregator";
/// A node with more taints is not touched.
inline constexpr std::size_t kMaxNodeTaints = 256;

/// Our marks on a Node object. A condition or taint that is not of the API's form is one that is not there.
NodeMarks node_marks_from_json(const nlohmann::json& node);

/// Strategic merge patches of /api/v1/nodes/NAME/status. Conditions are merged by type there, so those of others stay.
/// A patch of another node than the one with this `uid` is refused by the server. The time of the last transition is
/// set only when the status is another one than before.
nlohmann::json condition_patch(std::string_view uid, const ConditionMark& wanted, const NodeMarks& before, Time now);
nlohmann::json condition_drop_patch(std::string_view uid);

/// JSON merge patch of /api/v1/nodes/NAME with or without our taint. Taints are one value for the server: the others
/// are sent again as they were read, and the server refuses (409) when the node has changed since. nullopt: nothing to
/// do, or more than kMaxNodeTaints.
std::optional<nlohmann::json> taint_patch(const nlohmann::json& node, bool tainted);

/// A core/v1 Event that tells that the condition becomes `action.condition`. Its name is made of the node, what its
/// condition was, when that was written, and what it becomes: who tries again, here or elsewhere, makes the same one.
/// `reporter` is this replica's identity.
nlohmann::json condition_event(const Action& action, std::string_view uid, const NodeMarks& before,
                               std::string_view reporter, Time now);

}  // namespace gpuskew
