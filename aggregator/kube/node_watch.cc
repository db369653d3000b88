#include "aggregator/kube/node_watch.h"

#include <charconv>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/kube/node_json.h"
#include "aggregator/kube/node_writes.h"
#include "runtime/kube/json_text.h"
#include "runtime/log.h"

namespace gpuskew {

namespace {

/// 0 for one that is no number: such a version never counts as older.
std::uint64_t version_of(const nlohmann::json& node) {
  const std::string text = text_at(node, {"metadata", "resourceVersion"});
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

}  // namespace

NodeWatch::NodeWatch(KubeClient& client, const Log& log)
    : log_(log), watch_(client, KubeListRequest("/api/v1/nodes"), events()) {}

KubeWatchEvents NodeWatch::events() {
  KubeWatchEvents events;
  events.list_began = [this] { begin_list(); };
  events.list_ended = [this] { end_list(); };
  events.changed = [this](nlohmann::json&& node) { take(node); };
  events.deleted = [this](nlohmann::json&& node) { drop(text_at(node, {"metadata", "name"})); };
  events.troubled = [this](const Error& error) {
    trouble_ = error.what;
    log_.warning("the cluster's nodes can not be watched, what was known stays", {{"reason", error.what}});
  };
  events.recovered = [this] {
    trouble_.reset();
    log_.info("the cluster's nodes are watched again");
  };
  return events;
}

void NodeWatch::begin_list() {
  listing_ = true;
  listed_.clear();
}

void NodeWatch::end_list() {
  std::vector<std::string> gone;
  for (const auto& [name, node] : nodes_) {
    if (!listed_.contains(name)) {
      gone.push_back(name);
    }
  }
  for (const std::string& name : gone) {
    drop(name);
  }
  listing_ = false;
  listed_.clear();
  ++changes_;
  if (!whole_) {
    log_.info("the cluster's nodes are known", {{"nodes", nodes_.size()}});
  }
  whole_ = true;
}

void NodeWatch::take(const nlohmann::json& object) {
  Result<ClusterNode> node = cluster_node_from_json(object);
  if (!node) {
    log_.warning("a node of the cluster can not be read, ignoring", {{"reason", node.error().what}});
    return;
  }
  const std::string name = node->name;
  if (listing_) {
    listed_.insert(name);
  }
  if (nodes_.size() >= kMaxNodes && !nodes_.contains(name)) {
    if (!told_full_) {
      log_.error("the cluster has more nodes than can be looked at, the others are ignored", {{"limit", kMaxNodes}});
    }
    told_full_ = true;
    return;
  }
  const std::uint64_t version = version_of(object);
  std::uint64_t& known = versions_[name];
  if (version != 0 && version < known) {
    return;
  }
  known = version;
  left_.erase(name);
  NodeMarks marks = node_marks_from_json(object);
  ClusterNode& kept = nodes_[name];
  NodeMarks& kept_marks = marks_[name];
  // A kubelet's heartbeat changes nothing that is kept.
  if (kept == *node && kept_marks == marks) {
    return;
  }
  kept = std::move(*node);
  kept_marks = std::move(marks);
  ++changes_;
}

void NodeWatch::drop(const std::string& name) {
  if (nodes_.erase(name) == 0) {
    return;
  }
  ++changes_;
  left_.insert(name);
  marks_.erase(name);
  versions_.erase(name);
}

}  // namespace gpuskew
