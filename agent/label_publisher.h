#pragma once

// Keeps this node's labels true: publishes what the newest snapshot says, at once when it changes, and looks again now
// and then for what others did to them. Nothing is taken back at a stop: the next agent of this node publishes the
// same, and a label that is still true never goes for a moment. Nothing is published before the first snapshot.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include "agent/config.h"
#include "agent/nfd_file.h"
#include "agent/node_labels_api.h"
#include "agent/stream_session.h"
#include "core/node_labels.h"
#include "core/snapshot.h"
#include "runtime/backoff.h"
#include "runtime/kube/access.h"

namespace gpuskew {

class Log;

/// Between tries while the API server or NFD's directory can not be reached.
inline constexpr BackoffLimits kLabelRetries{std::chrono::seconds(1), std::chrono::seconds(30)};
/// The same while a right is missing: only a person mends that.
inline constexpr Duration kLabelRetryDenied = std::chrono::minutes(1);
/// A verdict is not looked at more often because of time alone.
inline constexpr Duration kMinLabelRevisit = std::chrono::seconds(1);

/// A variable of the process's environment.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view)>;

/// The API server that `config` means: its kubeconfig's, else this pod's. Unsupported for an exec plugin: the agent
/// runs nothing.
Result<KubeAccess> label_access(const LabelConfig& config, const EnvironmentLookup& environment);

/// Whether this way of publishing has what it needs on this machine; connects to nothing, changes nothing.
Result<void> check_labels(const LabelConfig& config, const EnvironmentLookup& environment);

class LabelPublisher {
 public:
  /// `log` must outlive the object. `on_state` is called after each change of state().
  LabelPublisher(asio::any_io_executor executor, const Log& log, std::string node, LabelConfig config,
                 EnvironmentLookup environment, std::function<void()> on_state);

  /// Replaces what was offered before. Never waits.
  void offer(std::shared_ptr<const Snapshot> snapshot) { outbox_.offer(std::move(snapshot)); }

  /// A task for Run, ended by cancellation; whatever goes wrong is logged and tried again.
  asio::awaitable<Result<void>> run();

  /// From the next turn on; reads the credentials anew also when nothing changed.
  void reconfigure(LabelConfig config);

  /// "16 labels published, 7 left to gpu-feature-discovery", "labels not published: ..."; "" when there is nothing to
  /// publish.
  const std::string& state() const { return state_; }

 private:
  void look();
  bool is_due() const;
  Deadline next_look() const;
  asio::awaitable<Result<PublishedLabels>> publish(NodeLabels wanted);
  asio::awaitable<Result<PublishedLabels>> publish_to_api(NodeLabels wanted);
  Result<PublishedLabels> publish_to_nfd(const NodeLabels& wanted);
  void note_published(const NodeLabels& labels, const PublishedLabels& published);
  void note_failed(const Error& error);
  void log_left(const NodeLabels& labels, const PublishedLabels& published);
  void set_state(std::string state);

  asio::any_io_executor executor_;
  const Log& log_;
  std::string node_;
  LabelConfig config_;
  EnvironmentLookup environment_;
  std::function<void()> on_state_;
  Outbox outbox_;
  Backoff backoff_;

  std::shared_ptr<NodeLabelsApi> api_;  ///< made when it is first needed
  std::optional<NfdFile> nfd_;

  std::shared_ptr<const Snapshot> seen_;  ///< what wanted_ was made of
  std::string boot_id_;
  Time boot_first_seen_{};
  std::optional<NodeLabels> wanted_;
  std::optional<NodeLabels> published_;
  Deadline revisit_ = kNoDeadline;  ///< the verdict may change by time alone
  Deadline resync_ = kNoDeadline;
  Deadline not_before_{};  ///< after a failure

  int failures_ = 0;
  Error last_failure_;
  ForeignLabels left_to_;
  std::string left_out_;
  std::string state_;
};

}  // namespace gpuskew
