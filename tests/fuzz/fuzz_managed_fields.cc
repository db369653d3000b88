// A Node as an API server might send it: what it says of owners never makes us write a standard label of another.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "agent/label_plan.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

NodeLabels wanted() {
  NodeLabels labels;
  labels.own = {{"gpuskew.io/state", "ok"}};
  labels.standard = {{"nvidia.com/gpu.present", "true"}, {"nvidia.com/cuda.driver.major", "550"}};
  return labels;
}

bool is_anothers(const NodeMetadata& node, std::string_view key) {
  const auto owners = node.owners.find(key);
  if (owners == node.owners.end()) {
    return false;
  }
  for (const FieldManager& manager : owners->second) {
    if (manager != FieldManager{std::string(kLabelManager), true}) {
      return true;
    }
  }
  return false;
}

void check(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  const auto node = node_metadata(object);
  if (!node) {
    require(!node.error().what.empty());
    return;
  }
  require(!node->uid.empty() && !node->resource_version.empty());
  const LabelPlan plan = plan_labels(wanted(), *node, {});
  for (const auto& [key, value] : wanted().standard) {
    require(plan.left_to.contains(key) == is_anothers(*node, key));
    require(plan.apply.contains(key) != plan.left_to.contains(key));
  }
  require(plan.apply.contains("gpuskew.io/state"));
  for (const std::string& key : plan.remove) {
    require(key.starts_with("gpuskew.io/"));
  }
  static_cast<void>(changes_text(*node, plan));
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
