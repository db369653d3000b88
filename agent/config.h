#pragma once

// agent.yaml, with the flags over it -> plain structs. A flag wins over the file; defaults live in the structs.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "agent/command_line.h"
#include "agent/paths.h"
#include "core/result.h"
#include "core/time.h"
#include "runtime/log.h"
#include "runtime/resolve.h"
#include "runtime/tls.h"

namespace gpuskew {

class HostRoot;

inline constexpr std::string_view kDefaultAgentConfig = "/etc/gpuskew/agent.yaml";
inline constexpr std::string_view kDefaultStateDirectory = "/var/lib/gpuskew-agent";

inline constexpr Duration kMinInterval = std::chrono::milliseconds(100);
inline constexpr Duration kMaxHeartbeat = std::chrono::minutes(10);
inline constexpr Duration kMaxPoll = std::chrono::hours(1);
inline constexpr Duration kMaxLabelResync = std::chrono::hours(1);
inline constexpr Duration kMaxCheckWait = std::chrono::hours(1);
/// As many as a snapshot holds.
inline constexpr std::uint32_t kMaxExpectedGpus = 256;

struct AggregatorConfig {
  /// nullopt: nobody said where the aggregator is.
  std::optional<HostPort> address;
  /// The name its certificate must have; never empty when `address` is there (default: the host of it).
  std::string server_name;
  TlsFiles tls;                        ///< `ca`, and who this agent is: certificate and key, or a token
  std::filesystem::path token_file{};  ///< a service account token; "": certificate and key are used

  bool operator==(const AggregatorConfig&) const = default;
};

/// How this node's labels get onto its Kubernetes Node.
enum class LabelWay : std::uint8_t {
  None,  ///< not at all: the default, because bare metal has no Kubernetes
  Api,   ///< this agent applies them itself
  Nfd,   ///< by a feature file for Node Feature Discovery; our own prefix only, because a file tells no other owner
};

struct LabelConfig {
  LabelWay publish = LabelWay::None;
  /// How often the Node is looked at although nothing changed here: a label that was removed or changed is put back,
  /// and a standard label whose owner went away is taken over.
  Duration resync = std::chrono::minutes(5);
  /// "": this pod's service account.
  std::filesystem::path kubeconfig;
  std::filesystem::path nfd_directory = kNfdFeatureDirectory;

  bool operator==(const LabelConfig&) const = default;
};

struct AgentConfig {
  std::string node;  ///< "": the host's own name, see node_name()
  std::filesystem::path host_root = "/";
  std::filesystem::path state_directory = kDefaultStateDirectory;
  AggregatorConfig aggregator;
  LabelConfig labels;
  Duration heartbeat = std::chrono::seconds(30);
  Duration poll = std::chrono::seconds(15);
  /// How many GPUs this node has, by its operator's word; nullopt: as many as were ever seen.
  std::optional<std::uint32_t> expected_gpus;
  LogLevel log_level = LogLevel::Info;
  /// How long `check` may wait for an answer.
  Duration check_wait{};

  bool operator==(const AgentConfig&) const = default;
};

/// The text of agent.yaml. `file` is for messages: "FILE:LINE: aggregator.adress: ...".
Result<AgentConfig> parse_agent_config(const std::string& file, std::string_view text);

/// File, then flags, then $NODE_NAME (`node_from_environment`, "" when not set) where neither names the node. A missing
/// file is an error only when --config named it. `facts` reads no file but one that --config names. Errors name the
/// file and line, or the flag.
Result<AgentConfig> load_agent_config(const AgentCommandLine& line, std::string_view node_from_environment);

/// The node's name: config.node, else etc/hostname beneath the root, else the kernel's host name, both in lower case
/// as kubelet does it. Errors: Malformed (no RFC 1123 subdomain, says where it came from), or why none could be read.
Result<std::string> node_name(const AgentConfig& config, const HostRoot& root);

}  // namespace gpuskew
