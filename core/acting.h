#pragma once

// What to do to nodes, when we are told to act: the condition, the Event and the taint that say what the verdict says.
// Pure: fleet + what the cluster's nodes carry now -> what is to change. The caller carries it out, or only tells it.
//
// A verdict of Unknown changes no taint: a node that can not be read is neither taken out nor declared well.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fleet.h"

namespace gpuskew {

inline constexpr std::string_view kGpuReadyCondition = "gpuskew.io/GPUReady";
inline constexpr std::string_view kGpuGoneTaint = "gpuskew.io/gpu-gone";  ///< effect NoSchedule, no value
/// A condition's message is cut to this many bytes, between characters.
inline constexpr std::size_t kMaxConditionMessage = 1024;

struct ActingPolicy {
  bool condition = false;
  bool events = false;  ///< with `condition`: an Event tells a change of it
  bool taint = false;
  /// When more of the judged GPU nodes than this would carry the taint, none is tainted any more: our own input is more
  /// likely to be wrong than half a cluster to be gone. One node is always allowed. 0 < fraction <= 1.
  double max_tainted_fraction = 0.10;

  bool operator==(const ActingPolicy&) const = default;
};

/// A Node's condition, as Kubernetes writes it.
struct ConditionMark {
  std::string status;  ///< "True", "False", "Unknown"
  std::string reason;  ///< CamelCase, at most 1024
  std::string message;

  bool operator==(const ConditionMark&) const = default;
};

/// What a Node of the cluster carries of ours.
struct NodeMarks {
  std::optional<ConditionMark> condition;
  std::string condition_written;  ///< its lastHeartbeatTime: another one after every write of ours; "" without one
  bool tainted = false;

  bool operator==(const NodeMarks&) const = default;
};

/// By the node's name.
using NodeMarksByName = std::map<std::string, NodeMarks, std::less<>>;

enum class ActionKind : std::uint8_t { SetCondition, DropCondition, AddTaint, RemoveTaint };
std::string_view to_string(ActionKind kind);

struct Action {
  std::string node;
  ActionKind kind{};
  ConditionMark condition;  ///< of SetCondition; of a taint what it stands for
  bool event = false;       ///< tell it by an Event, before it is done
};

struct ActionPlan {
  std::vector<Action> actions;   ///< by node; what heals comes first
  std::size_t gpu_nodes = 0;     ///< nodes of the cluster with a GPU or one expected
  std::size_t gone = 0;          ///< of them, those that should carry the taint
  std::size_t most_tainted = 0;  ///< as many as may
  /// Why no taint is added: one sentence with both numbers; nullopt while all is within the limit.
  std::optional<std::string> fuse;
};

/// The condition a verdict stands for; nullopt for a node without a GPU, or one that is not judged.
std::optional<ConditionMark> condition_for(const Verdict& verdict);

/// Whether nothing that needs the GPU can run here: a critical finding that no GPU of the node escapes.
bool is_gpu_gone(const NodeRecord& record);

/// `marks`: the cluster's nodes; records of nodes that are not among them are passed over, and so are nodes nobody
/// reported.
ActionPlan plan_actions(const std::map<std::string, NodeRecord, std::less<>>& records, const NodeMarksByName& marks,
                        const ActingPolicy& policy);

}  // namespace gpuskew
