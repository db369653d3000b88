#include "aggregator/kube/node_json.h"

#include <charconv>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gpuskew {

namespace {

using Json = nlohmann::json;

/// A node with more than this has no count.
constexpr std::uint64_t kMaxDevices = 1'000'000;

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || found == object.end() ? kNothing : *found;
}

std::string text(const Json& object, const char* key) {
  const Json& found = member(object, key);
  return found.is_string() ? found.get_ref<const std::string&>() : std::string();
}

/// A Kubernetes quantity that counts devices: "8", or "2k" as the API writes 2000. nullopt for any other.
std::optional<std::uint64_t> device_count(const Json& quantity) {
  if (!quantity.is_string()) {
    return std::nullopt;
  }
  const auto& value = quantity.get_ref<const std::string&>();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || number > kMaxDevices) {
    return std::nullopt;
  }
  const std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
  if (unit == "k") {
    number *= 1000;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  return number > kMaxDevices ? std::nullopt : std::optional(number);
}

void read_labels(const Json& labels, ClusterNode& node) {
  if (!labels.is_object()) {
    return;
  }
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string() && is_wanted_label(key)) {
      node.labels.emplace(key, value.get_ref<const std::string&>());
    }
  }
}

void read_resources(const Json& resources, std::optional<std::uint64_t> ClusterResource::*part, ClusterNode& node) {
  if (!resources.is_object()) {
    return;
  }
  for (const auto& [name, quantity] : resources.items()) {
    const bool is_new = !node.gpu_resources.contains(name);
    if (is_gpu_resource(name) && !(is_new && node.gpu_resources.size() == ClusterNode::kMaxResources)) {
      node.gpu_resources[name].*part = device_count(quantity);
    }
  }
}

void read_ready(const Json& conditions, ClusterNode& node) {
  if (!conditions.is_array()) {
    return;
  }
  for (const Json& condition : conditions) {
    if (text(condition, "type") != "Ready") {
      continue;
    }
    const std::string status = text(condition, "status");
    node.ready = status == "True" ? NodeReady::Yes : status == "False" ? NodeReady::No : NodeReady::Unknown;
    const auto since = parse_rfc3339(text(condition, "lastTransitionTime"));
    node.ready_since = since ? std::optional(*since) : std::nullopt;
  }
}

void read_taints(const Json& taints, ClusterNode& node) {
  if (!taints.is_array()) {
    return;
  }
  for (const Json& taint : taints) {
    if (node.taints.size() == ClusterNode::kMaxTaints) {
      return;
    }
    node.taints.push_back(ClusterTaint{text(taint, "key"), text(taint, "value"), text(taint, "effect")});
  }
}

}  // namespace

Result<ClusterNode> cluster_node_from_json(const Json& object) {
  const Json& metadata = member(object, "metadata");
  const Json& spec = member(object, "spec");
  const Json& status = member(object, "status");
  const Json& info = member(status, "nodeInfo");
  ClusterNode node;
  node.name = text(metadata, "name");
  if (node.name.empty()) {
    return fail(ErrorCode::Malformed, "a Node without metadata.name");
  }
  node.uid = text(metadata, "uid");
  read_labels(member(metadata, "labels"), node);
  node.info = ClusterNodeInfo{text(info, "kernelVersion"), text(info, "osImage"),        text(info, "architecture"),
                              text(info, "bootID"),        text(info, "kubeletVersion"), text(info, "operatingSystem")};
  const Json& unschedulable = member(spec, "unschedulable");
  node.unschedulable = unschedulable.is_boolean() && unschedulable.get<bool>();
  read_taints(member(spec, "taints"), node);
  read_ready(member(status, "conditions"), node);
  read_resources(member(status, "capacity"), &ClusterResource::capacity, node);
  read_resources(member(status, "allocatable"), &ClusterResource::allocatable, node);
  return node;
}

}  // namespace gpuskew
