#include "runtime/kube/label_owners.h"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

using Json = nlohmann::json;

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// "" where there is none; nullptr where it is no text.
const std::string* text_member(const Json& object, const char* key) {
  static const std::string kNone;
  const Json* found = member(object, key);
  return found == nullptr ? &kNone : found->get_ptr<const std::string*>();
}

Result<FieldManager> manager_of(const Json& entry) {
  const std::string* name = text_member(entry, "manager");
  const std::string* operation = text_member(entry, "operation");
  const std::string* subresource = text_member(entry, "subresource");
  if (name == nullptr || operation == nullptr || subresource == nullptr) {
    return fail(ErrorCode::Malformed, "its manager, operation or subresource is no text");
  }
  if (*operation != "Apply" && *operation != "Update") {
    return fail(ErrorCode::Unsupported, "operation " + in_quotes(*operation) + " is neither Apply nor Update");
  }
  return FieldManager{*name, *operation == "Apply", *subresource};
}

/// f:metadata.f:labels of an entry's fields; nullptr when it owns no labels.
Result<const Json*> label_fields(const Json& entry) {
  const std::string* type = text_member(entry, "fieldsType");
  const Json* fields = member(entry, "fieldsV1");
  if (type == nullptr || (*type != "FieldsV1" && !(type->empty() && fields == nullptr))) {
    return fail(ErrorCode::Unsupported, "its fields are no FieldsV1");
  }
  for (const char* key : {"f:metadata", "f:labels"}) {
    if (fields == nullptr) {
      return nullptr;
    }
    if (!fields->is_object()) {
      return fail(ErrorCode::Malformed, "its fields are no object");
    }
    fields = member(*fields, key);
  }
  if (fields != nullptr && !fields->is_object()) {
    return fail(ErrorCode::Malformed, "its labels are no object");
  }
  return fields;
}

Result<void> add_entry(const Json& entry, LabelOwners& owners) {
  constexpr std::string_view kField = "f:";
  if (!entry.is_object()) {
    return fail(ErrorCode::Malformed, "it is no object");
  }
  auto manager = manager_of(entry);
  if (!manager) {
    return tl::unexpected(manager.error());
  }
  const auto fields = label_fields(entry);
  if (!fields) {
    return tl::unexpected(fields.error());
  }
  if (*fields == nullptr) {
    return {};
  }
  for (const auto& [field, ignored] : (*fields)->items()) {
    // "." is the map of labels itself.
    if (field.starts_with(kField)) {
      owners[field.substr(kField.size())].insert(*manager);
    }
  }
  return {};
}

}  // namespace

Result<LabelOwners> label_owners(const Json& managed_fields) {
  LabelOwners owners;
  if (managed_fields.is_null()) {
    return owners;
  }
  if (!managed_fields.is_array()) {
    return fail(ErrorCode::Malformed, "metadata.managedFields is no list");
  }
  if (managed_fields.size() > kMaxFieldManagers) {
    return fail(ErrorCode::TooLarge,
                "metadata.managedFields has more than " + std::to_string(kMaxFieldManagers) + " entries");
  }
  for (std::size_t i = 0; i < managed_fields.size(); ++i) {
    if (auto added = add_entry(managed_fields[i], owners); !added) {
      return fail("metadata.managedFields[" + std::to_string(i) + "]", added.error());
    }
  }
  return owners;
}

std::string label_of_field(std::string_view field) {
  constexpr std::string_view kLabels = ".metadata.labels.";
  return field.starts_with(kLabels) ? std::string(field.substr(kLabels.size())) : "";
}

}  // namespace gpuskew
