#pragma once

// What else of a cluster speaks of its GPU nodes: pods, their budgets, the driver's DaemonSets and what the operators
// were told, as the Kubernetes API has them, cut down to what gpuskew looks at. "" and empty are "not said".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/label.h"
#include "core/time.h"

namespace gpuskew {

/// Text of an object beyond this is cut.
inline constexpr std::size_t kMaxObjectText = 1024;

/// A label selector (meta/v1). Without a requirement it takes everything.
struct LabelSelector {
  enum class Operator : std::uint8_t { In, NotIn, Exists, DoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::Exists;
    std::vector<std::string> values;

    bool operator==(const Requirement&) const = default;
  };
  static constexpr std::size_t kMaxRequirements = 256;

  std::vector<Requirement> requirements;  ///< all of them hold; matchLabels are In with one value

  bool matches(const Labels& labels) const;
  bool operator==(const LabelSelector&) const = default;
};

/// The controller of an object; kind "" when it has none.
struct ObjectOwner {
  std::string kind;  ///< "DaemonSet", "ReplicaSet", "Job", "Node" for a mirror pod, ...
  std::string name;
  std::string uid;

  bool operator==(const ObjectOwner&) const = default;
};

/// A pod on a GPU node.
struct ClusterPod {
  static constexpr std::size_t kMaxContainers = 64;

  std::string name_space;
  std::string name;
  std::string uid;
  std::string node;   ///< spec.nodeName
  std::string phase;  ///< "Running", ...
  Labels labels;      ///< all: selectors ask for any
  ObjectOwner owner;
  /// What its containers ask for together, init containers too where that is more: "nvidia.com/gpu" -> 2.
  std::map<std::string, std::uint64_t, std::less<>> gpu_requests;
  std::size_t resource_claims = 0;  ///< spec.resourceClaims (DRA)
  std::vector<std::string> images;  ///< of its containers, init containers behind them
  std::string runtime_class;
  bool ready = false;                        ///< its condition Ready
  std::optional<std::string> waits_because;  ///< the first container that waits: "ImagePullBackOff: ..."
  std::optional<Time> deleted_at;            ///< metadata.deletionTimestamp: it is to end
  bool is_mirror = false;                    ///< of a static pod
  bool has_empty_dir = false;
  bool has_finalizers = false;

  /// Neither Succeeded nor Failed.
  bool is_alive() const { return phase != "Succeeded" && phase != "Failed"; }
  bool operator==(const ClusterPod&) const = default;
};

struct DisruptionBudget {
  std::string name_space;
  std::string name;
  /// nullopt takes no pod. Of v1beta1 an empty one takes none, too, and is nullopt here.
  std::optional<LabelSelector> selector;
  std::optional<std::int64_t> disruptions_allowed;  ///< nullopt: the controller has not said
  bool is_current = false;                          ///< the status is of the spec as it is now
  bool evicts_unhealthy = false;                    ///< unhealthyPodEvictionPolicy AlwaysAllow

  bool operator==(const DisruptionBudget&) const = default;
};

/// A DaemonSet that runs the driver, the device plugin or another operand on GPU nodes.
struct GpuDaemonSet {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string component;            ///< its label app.kubernetes.io/component, else app
  std::vector<std::string> images;  ///< of the template's containers, in order
  ObjectOwner owner;                ///< ClusterPolicy, NVIDIADriver, ...
  std::string update_strategy;      ///< "OnDelete", "RollingUpdate"
  std::map<std::string, std::string, std::less<>> node_selector;
  std::int64_t desired = 0;
  std::int64_t current = 0;
  std::int64_t ready = 0;
  std::int64_t updated = 0;
  bool is_current = false;  ///< observedGeneration is the generation

  bool is_driver() const;  ///< its component is "nvidia-driver" or "nvidia-driver-daemonset"
  bool operator==(const GpuDaemonSet&) const = default;
};

/// One revision of a DaemonSet's template: the newest tells which of its pods are old.
struct DaemonSetRevision {
  std::string name_space;
  std::string name;
  std::string daemon_set;  ///< its owner's name
  std::string daemon_set_uid;
  std::string hash;  ///< label controller-revision-hash, which pods carry
  std::int64_t revision = 0;

  bool operator==(const DaemonSetRevision&) const = default;
};

struct RuntimeClass {
  std::string name;
  std::string handler;

  bool operator==(const RuntimeClass&) const = default;
};

/// The Lease of a node's kubelet, in kube-node-lease.
struct NodeLease {
  std::string node;
  std::optional<Time> renewed;

  bool operator==(const NodeLease&) const = default;
};

/// What a ClusterPolicy or an NVIDIADriver asks for.
struct DriverRequest {
  std::string kind;  ///< "ClusterPolicy", "NVIDIADriver"
  std::string name;
  bool driver_enabled = true;  ///< ClusterPolicy spec.driver.enabled
  bool precompiled = false;    ///< spec.driver.usePrecompiled, spec.usePrecompiled
  std::string repository;
  std::string image;
  std::string version;
  std::map<std::string, std::string, std::less<>> node_selector;  ///< of an NVIDIADriver
  std::string state;                                              ///< status.state: "ready", "notReady"
  std::vector<std::pair<std::string, std::string>>
      conditions;  ///< type Ready or Error that is True -> "reason: message"

  bool operator==(const DriverRequest&) const = default;
};

/// The devices a DRA driver offers on one node, of the newest generation of its pool.
struct DeviceSlice {
  std::string name;
  std::string node;    ///< "" for devices of no single node
  std::string driver;  ///< "gpu.nvidia.com"
  std::string pool;
  std::int64_t pool_generation = 0;
  std::size_t devices = 0;
  std::string driver_version;  ///< attribute driverVersion of its devices, semver; "" when absent, or devices differ

  bool operator==(const DeviceSlice&) const = default;
};

/// How much is known of one kind of object.
struct ObjectsKnown {
  enum class State : std::uint8_t {
    NotYet,   ///< the first list is on its way
    Known,    ///< and watched
    Absent,   ///< this server has no such resource
    Trouble,  ///< refused or unreachable: what was known before stays, and is old
  };
  State state = State::NotYet;
  std::string why;           ///< of Absent and Trouble; one sentence
  std::size_t objects = 0;   ///< kept
  std::size_t left_out = 0;  ///< over the limit; whoever needs them all has to say "unknown"

  bool operator==(const ObjectsKnown&) const = default;
};
/// "not listed yet", "watched", "absent", "trouble"
std::string_view to_string(ObjectsKnown::State state);

}  // namespace gpuskew
