#pragma once

// The aggregator's answers as values. Words (states, severities, codes) stay text: an aggregator newer than this
// program may use some it does not know, and they must be shown. All text is printable.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/fact.h"
#include "core/finding.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
std::uint64_t count_of(const Counts& counts, std::string_view word);

struct MatrixReply {
  bool configured = false;
  std::uint64_t rows = 0;
  std::string source;
  std::optional<std::string> error;  ///< why the last reading of it failed
};

/// Of the nodes that a Kubernetes API has.
struct ClusterCounts {
  std::uint64_t ready = 0;
  std::uint64_t not_ready = 0;
  std::uint64_t unschedulable = 0;
  std::uint64_t gpu_nodes = 0;      ///< with a sign of a GPU
  std::uint64_t contradictory = 0;  ///< whose own words contradict each other
};

/// One node as its Kubernetes API has it.
struct ClusterReply {
  std::string ready;  ///< "yes", "no", "unknown"
  bool unschedulable = false;
  std::string upgrade_state;               ///< "none" without one
  std::vector<std::string> gpu_resources;  ///< "nvidia.com/gpu 8 of 8"
  std::vector<std::string> notes;          ///< its contradictions
};

struct StatusReply {
  std::string version;
  Time now{};
  std::uint64_t total = 0;
  Counts by_state;  ///< as the server orders them, without the total
  Counts by_severity;
  MatrixReply matrix;
  std::optional<std::string> history_error;  ///< why transitions can not be kept now
  std::optional<ClusterCounts> cluster;      ///< nullopt: no Kubernetes API was asked

  std::uint64_t findings() const;
};

struct FindingReply {
  std::string code;
  std::string severity;
  std::string node;
  Time since{};
  std::string cause;
  std::vector<Evidence> evidence;
  std::string reboot_helps;  ///< "no", "yes", "unknown"
  std::string reboot_why;
  std::string next_step;
  std::vector<std::string> affected_gpus;
  std::vector<std::string> consequences;
};

struct NextBootReply {
  std::string outcome;  ///< "keeps", "loses", "cannot-tell", "not-applicable"
  std::string why;
  std::optional<std::string> kernel;
};

struct NodeRow {
  std::string name;
  std::string state;
  std::string why;
  Fact<std::string> kernel;
  Fact<std::string> os;
  Fact<std::string> driver;
  Fact<std::string> gpus;
  Fact<std::string> boot_id;
  std::optional<std::string> tag;
  std::optional<std::string> tag_error;
  std::optional<NextBootReply> next_boot;  ///< nullopt: an older aggregator
  std::optional<Time> last_heard;
  std::vector<std::string> findings;
  std::optional<ClusterReply> cluster;  ///< nullopt: no Kubernetes API was asked
};

struct TagReply {
  std::string text;
  std::vector<std::string> notes;
};

struct LastGoodReply {
  Time at{};
  std::string boot_id;  ///< "" when it could not be read then
  std::string kernel;
  std::string driver;
  std::optional<std::uint64_t> gpu_count;
  bool from_container = false;
};

struct GpuReply {
  std::string address;
  Fact<std::string> driver;
};

/// The facts of a node, each as text: "550.90.07 at /lib/modules/..." for the module file.
struct NodeFacts {
  std::string agent_version;
  Fact<std::string> boot_id;
  Fact<std::string> boot_time;  ///< RFC 3339
  Fact<std::string> kernel;
  Fact<std::string> architecture;
  Fact<std::string> os;
  Fact<std::string> driver;
  Fact<std::string> flavour;
  Fact<std::string> l4t_release;  ///< known on a Jetson
  Fact<std::string> module_file;
  Fact<std::string> libraries;
  Fact<std::string> driver_container;
  Fact<std::string> gpu_count;
  std::vector<GpuReply> gpus;
  Fact<std::string> next_kernel;  ///< "5.15.0-122-generic, by first entry of grub.cfg"
  Fact<std::string> installs;     ///< "6 deb, 1 dkms"
  Fact<std::string> runtime;      ///< "containerd 1.7.24, handlers: nvidia"
  Fact<std::string> kubelet;      ///< "8 nvidia.com/gpu registered"
  /// The other facts that are unknown, with why.
  std::vector<std::pair<std::string, std::string>> unread;
  std::vector<std::string> not_reported;  ///< facts that this node's agent is too old for
};

struct NodeReply {
  std::string name;
  std::string state;
  std::string why;
  std::optional<Time> last_heard;
  NodeFacts facts;
  std::optional<LastGoodReply> last_good;
  std::optional<TagReply> tag;
  std::optional<std::string> tag_error;
  std::vector<FindingReply> findings;      ///< the root cause first
  std::optional<NextBootReply> next_boot;  ///< nullopt: an older aggregator
  std::optional<ClusterReply> cluster;     ///< nullopt: no Kubernetes API was asked

  /// No agent ever spoke for it: all that is known is what the Kubernetes API says.
  bool is_of_cluster_only() const { return cluster && !last_heard; }
};

struct AuditRow {
  std::string node;
  std::string verdict;  ///< "ok", "missing", "unknown"
  std::optional<std::string> tag;
  std::string why;
  std::vector<std::string> notes;
  std::optional<ClusterReply> cluster;  ///< nullopt: no Kubernetes API was asked
};

struct AuditReply {
  std::string result;
  MatrixReply matrix;
  std::vector<AuditRow> nodes;
  std::vector<std::string> notes;  ///< about the fleet
};

struct ForecastRow : AuditRow {
  std::optional<std::string> kernel;  ///< nullopt: unknown
};

struct ForecastReply {
  std::string result;
  MatrixReply matrix;
  std::vector<ForecastRow> nodes;
};

struct TransitionReply {
  Time at{};
  std::string kind;
  std::string from;
  std::string to;
  std::string detail;
};

/// Errors: Malformed, naming the field ("nodes[3].state is missing").
Result<StatusReply> status_reply(const nlohmann::ordered_json& json);
Result<std::vector<NodeRow>> nodes_reply(const nlohmann::ordered_json& json);
Result<NodeReply> node_reply(const nlohmann::ordered_json& json);
Result<std::vector<FindingReply>> findings_reply(const nlohmann::ordered_json& json);
Result<AuditReply> audit_reply(const nlohmann::ordered_json& json);
Result<ForecastReply> forecast_reply(const nlohmann::ordered_json& json);
Result<std::vector<TransitionReply>> history_reply(const nlohmann::ordered_json& json);

}  // namespace gpuskew
