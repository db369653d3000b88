#pragma once

// Who owns an object's labels: its metadata.managedFields, read for labels alone.

#include <map>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace gpuskew {

/// More entries than this are refused (TooLarge); a busy node has some ten.
inline constexpr std::size_t kMaxFieldManagers = 1000;

/// To the API server, a name that applies, the same name that updates, and the same name on a subresource are three
/// managers: each keeps a field alive by itself.
struct FieldManager {
  std::string name;           ///< "kubectl-label", "nfd-master", "before-first-apply"
  bool applies = false;       ///< by server-side apply; else by any other write
  std::string subresource{};  ///< "status"; "" for the object itself

  auto operator<=>(const FieldManager&) const = default;
};

/// By the label's key. A label that is not here is nobody's.
using LabelOwners = std::map<std::string, std::set<FieldManager>, std::less<>>;

/// `managed_fields` is the value of metadata.managedFields; null is an empty one. What does not read as FieldsV1 is an
/// error and not nobody's: Malformed, Unsupported, TooLarge.
Result<LabelOwners> label_owners(const nlohmann::json& managed_fields);

/// The label that a conflict's field names (".metadata.labels.nvidia.com/gpu.present"); "" when it is no label.
std::string label_of_field(std::string_view field);

}  // namespace gpuskew
