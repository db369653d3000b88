#pragma once

// Which labels this agent may write on its Node, and whether anything has to be written at all. Pure.
//
// Own keys are always ours: what another manager wrote there is taken from it. Standard keys are written only where
// nobody else owns them; also not with an equal value, because two owners keep a label alive after the one who meant it
// has gone. The API server removes with one apply what an earlier one listed and this one does not, so everything we
// own is always in one apply, and a driver's labels go together.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/label.h"
#include "core/node_labels.h"
#include "core/result.h"
#include "runtime/kube/label_owners.h"

namespace gpuskew {

/// This agent, to the API server.
inline constexpr std::string_view kLabelManager = "gpuskew-agent";

/// What a Node says of its labels.
struct NodeMetadata {
  std::string uid;
  std::string resource_version;
  Labels labels;
  LabelOwners owners;
};

/// From a Node, or its PartialObjectMetadata. Malformed, and the errors of label_owners().
Result<NodeMetadata> node_metadata(const nlohmann::json& object);

/// Standard keys by who owns them: "gpu-feature-discovery", "kubectl-label, nfd-master".
using ForeignLabels = std::map<std::string, std::string, std::less<>>;

struct LabelPlan {
  Labels apply;           ///< everything the apply lists
  ForeignLabels left_to;  ///< wanted standard keys that are another's
  /// An own key has another's value: the apply has to be forced. It is sent with the resource version that the owners
  /// were read at, so that nothing is taken by force that was not looked at.
  bool force = false;
  bool is_apply_needed = false;
  /// Own keys that nobody wants and no apply of ours removes, because they are another manager's or nobody's.
  std::vector<std::string> remove;
};

/// `contested`: keys, by owner, that an apply was refused for although `node` does not tell of that owner.
LabelPlan plan_labels(const NodeLabels& wanted, const NodeMetadata& node, const ForeignLabels& contested);

/// The object of the apply. `uid` keeps it from making a Node that is gone anew, and from meeting another of its name.
nlohmann::json apply_object(const std::string& node, const NodeMetadata& at, const LabelPlan& plan);

/// What a plan changes on `node`: "gpuskew.io/state=broken, nvidia.com/cuda.driver.major removed"; "" for nothing.
std::string changes_text(const NodeMetadata& node, const LabelPlan& plan);

}  // namespace gpuskew
