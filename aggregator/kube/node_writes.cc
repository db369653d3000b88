#include "aggregator/kube/node_writes.h"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gpuskew {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kTaintEffect = "NoSchedule";
/// Leaves room for the rest of an Event's name, which has 253 bytes at most.
constexpr std::size_t kMaxNodeInEventName = 220;

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || found == object.end() ? kNothing : *found;
}

std::string text(const Json& object, const char* key) {
  const Json& found = member(object, key);
  return found.is_string() ? found.get_ref<const std::string&>() : std::string();
}

bool is_our_taint(const Json& taint) {
  return text(taint, "key") == kGpuGoneTaint && text(taint, "effect") == kTaintEffect;
}

/// FNV-1a: the same in every release, and on every replica.
std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return hash;
}

std::string event_name(const Action& action, std::string_view uid, const NodeMarks& before) {
  const ConditionMark old = before.condition.value_or(ConditionMark{});
  const std::string change = fmt::format("{}|{}|{}|{}|{}|{}", uid, old.status, old.reason, before.condition_written,
                                         action.condition.status, action.condition.reason);
  std::string node = action.node.substr(0, kMaxNodeInEventName);
  while (!node.empty() && (node.back() == '.' || node.back() == '-')) {
    node.pop_back();
  }
  return fmt::format("{}.gpuskew-{:016x}", node, hash_of(change));
}

Json status_patch(std::string_view uid, Json condition) {
  condition["type"] = kGpuReadyCondition;
  Json patch;
  patch["metadata"]["uid"] = uid;
  patch["status"]["conditions"] = Json::array({std::move(condition)});
  return patch;
}

}  // namespace

NodeMarks node_marks_from_json(const Json& node) {
  NodeMarks marks;
  const Json& conditions = member(member(node, "status"), "conditions");
  for (const Json& condition : conditions.is_array() ? conditions : Json::array()) {
    if (text(condition, "type") == kGpuReadyCondition) {
      marks.condition = ConditionMark{text(condition, "status"), text(condition, "reason"), text(condition, "message")};
      marks.condition_written = text(condition, "lastHeartbeatTime");
    }
  }
  const Json& taints = member(member(node, "spec"), "taints");
  for (const Json& taint : taints.is_array() ? taints : Json::array()) {
    marks.tainted = marks.tainted || is_our_taint(taint);
  }
  return marks;
}

Json condition_patch(std::string_view uid, const ConditionMark& wanted, const NodeMarks& before, Time now) {
  Json condition;
  condition["status"] = wanted.status;
  condition["reason"] = wanted.reason;
  condition["message"] = wanted.message;
  condition["lastHeartbeatTime"] = to_rfc3339(now);
  if (!before.condition || before.condition->status != wanted.status) {
    condition["lastTransitionTime"] = to_rfc3339(now);
  }
  return status_patch(uid, std::move(condition));
}

Json condition_drop_patch(std::string_view uid) {
  Json condition;
  condition["$patch"] = "delete";
  return status_patch(uid, std::move(condition));
}

std::optional<Json> taint_patch(const Json& node, bool tainted) {
  const Json& before = member(member(node, "spec"), "taints");
  if ((!before.is_array() && !before.is_null()) || before.size() > kMaxNodeTaints) {
    return std::nullopt;
  }
  Json after = Json::array();
  bool was_tainted = false;
  for (const Json& taint : before) {
    if (is_our_taint(taint)) {
      was_tainted = true;
    } else {
      after.push_back(taint);
    }
  }
  if (was_tainted == tainted) {
    return std::nullopt;
  }
  if (tainted) {
    Json taint;
    taint["key"] = kGpuGoneTaint;
    taint["effect"] = kTaintEffect;
    after.push_back(std::move(taint));
  }
  Json patch;
  patch["metadata"]["uid"] = text(member(node, "metadata"), "uid");
  patch["metadata"]["resourceVersion"] = text(member(node, "metadata"), "resourceVersion");
  patch["spec"]["taints"] = after.empty() ? Json() : std::move(after);
  return patch;
}

Json condition_event(const Action& action, std::string_view uid, const NodeMarks& before, std::string_view reporter,
                     Time now) {
  Json event;
  event["apiVersion"] = "v1";
  event["kind"] = "Event";
  event["metadata"]["name"] = event_name(action, uid, before);
  event["metadata"]["namespace"] = kNodeEventsNamespace;
  Json& node = event["involvedObject"];
  node["apiVersion"] = "v1";
  node["kind"] = "Node";
  node["name"] = action.node;
  node["uid"] = uid;
  event["type"] = action.condition.status == "True" && action.condition.reason == "GpuReady" ? "Normal" : "Warning";
  event["reason"] = action.condition.reason;
  event["message"] = action.condition.message;
  event["firstTimestamp"] = to_rfc3339(now);
  event["lastTimestamp"] = to_rfc3339(now);
  event["count"] = 1;
  event["source"]["component"] = kEventReporter;
  event["reportingComponent"] = kEventReporter;
  event["reportingInstance"] = reporter;
  return event;
}

}  // namespace gpuskew
