#pragma once

// aggregator.yaml as plain structs. Reading it opens nothing else: whether certificates load and addresses can be
// listened on is config_check's and main's business.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/acting.h"
#include "core/judge.h"
#include "core/result.h"
#include "core/time.h"
#include "runtime/log.h"
#include "runtime/tls.h"

namespace gpuskew {

inline constexpr std::int64_t kMaxAgentConnections = 200'000;

struct AgentsConfig {
  std::string listen = "0.0.0.0:7481";
  TlsFiles tls;  ///< all three are required; agents without a certificate are taken only in a cluster, by their token
  std::size_t max_connections = 60'000;

  bool operator==(const AgentsConfig&) const = default;
};

struct ApiConfig {
  std::string listen = "127.0.0.1:7480";
  std::optional<TlsFiles> tls;  ///< nullopt: plain HTTP. An empty `ca`: no client certificate is asked for
  std::optional<std::filesystem::path> token_file;
  bool allow_anonymous = false;

  bool operator==(const ApiConfig&) const = default;
};

struct HistoryConfig {
  std::filesystem::path path = "/var/lib/gpuskew/history.db";
  Duration retention = std::chrono::hours(24 * 90);

  bool operator==(const HistoryConfig&) const = default;
};

/// The cluster this aggregator is of. Nothing of it is used unless `enabled`.
struct KubernetesConfig {
  bool enabled = false;
  std::optional<std::filesystem::path> kubeconfig;  ///< nullopt: the service account of this pod
  /// "NAMESPACE/NAME": pods of this service account are agents, and may show its token instead of a certificate.
  std::string agent_service_account = "gpuskew/gpuskew-agent";
  bool api_tokens = false;  ///< the API takes the cluster's tokens, checked by TokenReview and SubjectAccessReview
  std::string lease = "gpuskew/gpuskew-aggregator";  ///< "NAMESPACE/NAME" of the Lease that says which replica acts
  ActingPolicy acting;
  bool acting_dry_run = false;  ///< what would be done is logged, and not done

  bool operator==(const KubernetesConfig&) const = default;
};

struct Config {
  std::filesystem::path file;  ///< where this was read; named in messages
  AgentsConfig agents;
  ApiConfig api;
  HistoryConfig history;
  std::optional<std::filesystem::path> matrix_file;
  JudgePolicy judge;  ///< with the tag policy in it
  KubernetesConfig kubernetes;
  LogLevel log_level = LogLevel::Info;

  bool operator==(const Config&) const = default;
};

/// Errors: Malformed, "FILE:LINE: key: problem" for unknown keys, wrong types and values out of range.
Result<Config> parse_config(const std::filesystem::path& file, std::string_view text);

/// Reads the file, too.
Result<Config> load_config(const std::filesystem::path& file);

}  // namespace gpuskew
