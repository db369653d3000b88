// A Node object as an API server may send it: whatever is in it, the tag made of it is one or an error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/kube/node_json.h"
#include "core/judge.h"
#include "core/kube/cluster_snapshot.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (object.is_discarded()) {
    return;
  }
  const auto node = cluster_node_from_json(object);
  if (!node) {
    require(!node.error().what.empty());
    return;
  }
  require(!node->name.empty());
  require(node->taints.size() <= ClusterNode::kMaxTaints);
  require(node->gpu_resources.size() <= ClusterNode::kMaxResources);
  const Snapshot snapshot = snapshot_from_cluster_node(*node, Time{});
  require(verdict_without_agent(*node).state == NodeState::Unknown);
  const auto tag = node_tag(snapshot, {}, {});
  require(tag ? is_tag_text(tag->text) : !tag.error().what.empty());
  for (const std::string& note : contradictions(*node)) {
    require(!note.empty());
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
