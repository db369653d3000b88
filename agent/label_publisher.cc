#include "agent/label_publisher.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "agent/check.h"
#include "agent/resident_memory.h"
#include "agent/stream.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

Backoff new_backoff() {
  return Backoff(kLabelRetries, std::minstd_rand(std::random_device{}()));
}

/// "nvidia.com/gpu.present (kubectl-label), ..."
std::string with_owners(const ForeignLabels& left_to) {
  std::string text;
  for (const auto& [key, owner] : left_to) {
    text += (text.empty() ? "" : ", ") + key + " (" + owner + ")";
  }
  return text;
}

std::string summary(const PublishedLabels& published) {
  std::string text = std::to_string(published.count) + " labels published";
  std::set<std::string> owners;
  for (const auto& [key, owner] : published.left_to) {
    owners.insert(owner);
  }
  std::string names;
  for (const std::string& owner : owners) {
    names += (names.empty() ? "" : ", ") + owner;
  }
  return names.empty() ? text : text + ", " + std::to_string(published.left_to.size()) + " left to " + names;
}

}  // namespace

Result<KubeAccess> label_access(const LabelConfig& config, const EnvironmentLookup& environment) {
  if (config.kubeconfig.empty()) {
    return in_cluster_access(environment);
  }
  auto access = kubeconfig_access({config.kubeconfig});
  if (access && access->exec) {
    return fail(ErrorCode::Unsupported, access->source +
                                            ": its user is an exec plugin, and the agent runs nothing; "
                                            "use a certificate or a token file");
  }
  return access;
}

Result<void> check_labels(const LabelConfig& config, const EnvironmentLookup& environment) {
  if (config.publish == LabelWay::Nfd) {
    return NfdFile(config.nfd_directory).check();
  }
  if (config.publish == LabelWay::None) {
    return {};
  }
  const auto access = label_access(config, environment);
  return access ? Result<void>() : tl::unexpected(access.error());
}

LabelPublisher::LabelPublisher(asio::any_io_executor executor, const Log& log, std::string node, LabelConfig config,
                               EnvironmentLookup environment, std::function<void()> on_state)
    : executor_(std::move(executor)),
      log_(log),
      node_(std::move(node)),
      config_(std::move(config)),
      environment_(std::move(environment)),
      on_state_(std::move(on_state)),
      outbox_(executor_),
      backoff_(new_backoff()) {}

asio::awaitable<Result<void>> LabelPublisher::run() {
  for (;;) {
    look();
    if (!is_due()) {
      co_await outbox_.wait(next_look());
      continue;
    }
    NodeLabels wanted = *wanted_;
    const LabelConfig config = config_;
    // What reading the node took is not needed while we talk to the API server, and what that takes not afterwards.
    release_unused_memory();
    const Result<PublishedLabels> published = co_await publish(wanted);
    release_unused_memory();
    if (config != config_) {
      continue;  // reconfigured meanwhile: what that came to is of no interest any more
    }
    if (published) {
      note_published(wanted, *published);
    } else {
      note_failed(published.error());
    }
  }
}

void LabelPublisher::reconfigure(LabelConfig config) {
  config_ = std::move(config);
  api_.reset();
  nfd_.reset();
  published_.reset();
  resync_ = kNoDeadline;
  not_before_ = Deadline{};
  backoff_ = new_backoff();
  failures_ = 0;
  if (config_.publish == LabelWay::None) {
    set_state("");
  }
  outbox_.ring();
}

/// What should be on the Node by now.
void LabelPublisher::look() {
  const auto& newest = outbox_.newest();
  if (newest == nullptr || (newest == seen_ && Clock::now() < revisit_)) {
    return;
  }
  seen_ = newest;
  const Time now = wall_clock_now();
  const std::string boot_id = seen_->boot_id.is_known() ? seen_->boot_id.value() : boot_id_;
  if (boot_first_seen_ == Time{} || boot_id != boot_id_) {
    boot_id_ = boot_id;
    boot_first_seen_ = now;
  }
  const Verdict verdict = judge_alone(*seen_, JudgePolicy{}, boot_first_seen_, now);
  revisit_ = verdict.revisit_at ? Clock::now() + std::max(*verdict.revisit_at - now, kMinLabelRevisit) : kNoDeadline;
  wanted_ = node_labels(*seen_, verdict);
}

bool LabelPublisher::is_due() const {
  const Deadline now = Clock::now();
  return config_.publish != LabelWay::None && wanted_ && now >= not_before_ &&
         (wanted_ != published_ || now >= resync_);
}

Deadline LabelPublisher::next_look() const {
  if (config_.publish == LabelWay::None || !wanted_) {
    return kNoDeadline;
  }
  const Deadline work = wanted_ != published_ ? not_before_ : std::max(resync_, not_before_);
  return std::min(work, revisit_);
}

asio::awaitable<Result<PublishedLabels>> LabelPublisher::publish(NodeLabels wanted) {
  if (config_.publish == LabelWay::Nfd) {
    co_return publish_to_nfd(wanted);
  }
  co_return co_await publish_to_api(std::move(wanted));
}

asio::awaitable<Result<PublishedLabels>> LabelPublisher::publish_to_api(NodeLabels wanted) {
  if (api_ == nullptr) {
    auto access = label_access(config_, environment_);
    if (!access) {
      co_return tl::unexpected(access.error());
    }
    auto opened = NodeLabelsApi::open(executor_, std::move(*access), node_);
    if (!opened) {
      co_return tl::unexpected(opened.error());
    }
    api_ = std::move(*opened);
    release_unused_memory();  // files and certificates are behind us, the handshake comes
  }
  const std::shared_ptr<NodeLabelsApi> kept = api_;  // a reload may replace it while we wait
  co_return co_await kept->publish(std::move(wanted));
}

Result<PublishedLabels> LabelPublisher::publish_to_nfd(const NodeLabels& wanted) {
  if (!nfd_) {
    nfd_.emplace(config_.nfd_directory);
  }
  const auto written = nfd_->publish(wanted.own, wall_clock_now());
  if (!written) {
    return tl::unexpected(written.error());
  }
  PublishedLabels published;
  published.count = wanted.own.size();
  if (*written && (!published_ || published_->own != wanted.own)) {
    published.changes = "written to " + nfd_->path().string();
  }
  return published;
}

void LabelPublisher::note_published(const NodeLabels& labels, const PublishedLabels& published) {
  if (published.changes.empty()) {
    log_.debug("labels are as they should be", {{"labels", published.count}});
  } else {
    log_.info("labels published", {{"labels", published.count}, {"changes", published.changes}});
  }
  if (failures_ > 0) {
    log_.info("labels are published again", {{"failures", failures_}});
  }
  failures_ = 0;
  backoff_.reset();
  not_before_ = Deadline{};
  published_ = labels;
  resync_ = Clock::now() + config_.resync;
  log_left(labels, published);
  set_state(summary(published));
}

/// Once for each change of what is not written, and why.
void LabelPublisher::log_left(const NodeLabels& labels, const PublishedLabels& published) {
  if (published.left_to != left_to_) {
    left_to_ = published.left_to;
    if (left_to_.empty()) {
      log_.info("no label has another owner any more");
    } else {
      log_.info("labels are left to their owners", {{"labels", with_owners(left_to_)}});
    }
  }
  if (std::string left_out = to_text(labels.left_out); left_out != left_out_) {
    left_out_ = std::move(left_out);
    if (left_out_.empty()) {
      log_.info("no label is left out any more");
    } else {
      log_.warning("labels are left out", {{"labels", left_out_}});
    }
  }
}

void LabelPublisher::note_failed(const Error& error) {
  const bool is_news = failures_ == 0 || error.code != last_failure_.code;
  ++failures_;
  if (is_news || failures_ % kFailuresALogLine == 0) {
    log_.warning("labels are not published, trying on", {{"reason", error.what}, {"failures", failures_}});
  }
  last_failure_ = error;
  const Duration wait = backoff_.next();
  not_before_ = Clock::now() + (error.code == ErrorCode::Denied ? std::max(wait, kLabelRetryDenied) : wait);
  set_state("labels not published: " + error.what);
}

void LabelPublisher::set_state(std::string state) {
  if (state != state_) {
    state_ = std::move(state);
    if (on_state_) {
      on_state_();
    }
  }
}

}  // namespace gpuskew
