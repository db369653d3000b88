#include "agent/label_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/label_names.h"

namespace gpuskew {
namespace {

using Json = nlohmann::json;

bool is_us(const FieldManager& manager) {
  return manager.name == kLabelManager && manager.applies && manager.subresource.empty();
}

bool is_ours(const NodeMetadata& node, std::string_view key) {
  const auto owners = node.owners.find(key);
  return owners != node.owners.end() && std::any_of(owners->second.begin(), owners->second.end(), is_us);
}

/// The owners of a label but us; "" for none.
std::string others(const NodeMetadata& node, std::string_view key, const ForeignLabels& contested) {
  std::set<std::string> names;
  if (const auto owners = node.owners.find(key); owners != node.owners.end()) {
    for (const FieldManager& manager : owners->second) {
      if (!is_us(manager)) {
        names.insert(manager.name.empty() ? "a manager without a name" : manager.name);
      }
    }
  }
  if (const auto named = contested.find(key); named != contested.end()) {
    names.insert(named->second);
  }
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

bool has_value(const NodeMetadata& node, std::string_view key, const std::string& value) {
  const auto label = node.labels.find(key);
  return label != node.labels.end() && label->second == value;
}

bool is_apply_needed(const Labels& apply, const NodeMetadata& node) {
  const auto is_as_wanted = [&node](const auto& label) {
    return is_ours(node, label.first) && has_value(node, label.first, label.second);
  };
  const auto is_too_many = [&node, &apply](const auto& owned) {
    return is_ours(node, owned.first) && apply.find(owned.first) == apply.end();
  };
  return !std::all_of(apply.begin(), apply.end(), is_as_wanted) ||
         std::any_of(node.owners.begin(), node.owners.end(), is_too_many);
}

Result<std::string> text_of(const Json& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end() || !found->is_string() || found->get_ref<const std::string&>().empty()) {
    return fail(ErrorCode::Malformed, "the Node has no metadata." + std::string(key));
  }
  return found->get<std::string>();
}

Result<Labels> labels_of(const Json& metadata) {
  Labels labels;
  const auto found = metadata.find("labels");
  if (found == metadata.end() || found->is_null()) {
    return labels;
  }
  if (!found->is_object()) {
    return fail(ErrorCode::Malformed, "the Node's metadata.labels are no object");
  }
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      return fail(ErrorCode::Malformed, "the Node's label " + in_quotes(key) + " is no text");
    }
    labels.emplace(key, value.get<std::string>());
  }
  return labels;
}

}  // namespace

Result<NodeMetadata> node_metadata(const Json& object) {
  const auto metadata = object.is_object() ? object.find("metadata") : object.end();
  if (metadata == object.end() || !metadata->is_object()) {
    return fail(ErrorCode::Malformed, "the Node has no metadata");
  }
  auto uid = text_of(*metadata, "uid");
  auto version = text_of(*metadata, "resourceVersion");
  auto labels = labels_of(*metadata);
  if (!uid || !version || !labels) {
    return tl::unexpected(!uid ? uid.error() : !version ? version.error() : labels.error());
  }
  const auto fields = metadata->find("managedFields");
  auto owners = label_owners(fields == metadata->end() ? Json() : *fields);
  if (!owners) {
    return tl::unexpected(owners.error());
  }
  return NodeMetadata{std::move(*uid), std::move(*version), std::move(*labels), std::move(*owners)};
}

LabelPlan plan_labels(const NodeLabels& wanted, const NodeMetadata& node, const ForeignLabels& contested) {
  LabelPlan plan;
  plan.apply = wanted.own;
  for (const auto& [key, value] : wanted.own) {
    const bool is_anothers = !others(node, key, contested).empty();
    plan.force = plan.force || (is_anothers && !has_value(node, key, value));
  }
  for (const auto& [key, value] : wanted.standard) {
    if (std::string owner = others(node, key, contested); !owner.empty()) {
      plan.left_to.emplace(key, std::move(owner));
    } else {
      plan.apply.emplace(key, value);
    }
  }
  plan.is_apply_needed = is_apply_needed(plan.apply, node);
  for (const std::string_view key : kOwnLabels) {
    const bool is_there = node.labels.find(key) != node.labels.end() && plan.apply.find(key) == plan.apply.end();
    if (is_there && (!is_ours(node, key) || !others(node, key, contested).empty())) {
      plan.remove.emplace_back(key);
    }
  }
  return plan;
}

Json apply_object(const std::string& node, const NodeMetadata& at, const LabelPlan& plan) {
  Json metadata = {{"name", node}, {"uid", at.uid}, {"labels", Json::object()}};
  if (plan.force) {
    metadata["resourceVersion"] = at.resource_version;
  }
  for (const auto& [key, value] : plan.apply) {
    metadata["labels"][key] = value;
  }
  return {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(metadata)}};
}

std::string changes_text(const NodeMetadata& node, const LabelPlan& plan) {
  std::string text;
  const auto add = [&text](const std::string& change) { text += (text.empty() ? "" : ", ") + change; };
  for (const auto& [key, value] : plan.apply) {
    if (!has_value(node, key, value)) {
      add(key + "=" + value);
    }
  }
  for (const auto& [key, ignored] : node.labels) {
    const bool is_removed = std::find(plan.remove.begin(), plan.remove.end(), key) != plan.remove.end();
    const bool is_dropped =
        is_ours(node, key) && plan.apply.find(key) == plan.apply.end() && !plan.left_to.contains(key);
    if (is_removed || is_dropped) {
      add(key + " removed");
    }
  }
  return text;
}

}  // namespace gpuskew
