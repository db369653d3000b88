#include "aggregator/kube/acting.h"

#include <algorithm>
#include <utility>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "aggregator/kube/node_writes.h"
#include "runtime/clock.h"
#include "runtime/kube/path.h"
#include "runtime/log.h"

namespace gpuskew {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr unsigned kUnauthorized = 401;
constexpr unsigned kForbidden = 403;
constexpr unsigned kConflict = 409;
constexpr unsigned kTooMany = 429;
constexpr unsigned kServerError = 500;

std::string node_path(std::string_view node) {
  return "/api/v1/nodes/" + query_escaped(node);
}

std::string text_of(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ClusterWrite write_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::SetCondition:
      return ClusterWrite::SetCondition;
    case ActionKind::DropCondition:
      return ClusterWrite::DropCondition;
    case ActionKind::AddTaint:
      return ClusterWrite::AddTaint;
    case ActionKind::RemoveTaint:
      return ClusterWrite::RemoveTaint;
  }
  return ClusterWrite::SetCondition;
}

bool is_taint(ActionKind kind) {
  return kind == ActionKind::AddTaint || kind == ActionKind::RemoveTaint;
}

}  // namespace

Acting::Acting(asio::any_io_executor executor, KubeClient& client, const Fleet& fleet, NodeWatch& nodes,
               const LeaderLease* lease, ActingPolicy policy, const Log& log)
    : client_(client),
      fleet_(fleet),
      nodes_(nodes),
      lease_(lease),
      policy_(policy),
      log_(log),
      timer_(std::move(executor)) {}

void Acting::add_to(ReplicaFigures& figures) const {
  figures.fuse = fuse_;
  figures.writes = counts_;
  if (trouble_) {
    figures.trouble = trouble_;
  }
}

bool Acting::may_act() const {
  return lease_ == nullptr || lease_->leads();
}

bool Acting::is_due(Deadline now) const {
  if (!nodes_.is_whole()) {
    return false;
  }
  return planned_verdicts_ != fleet_.verdicts_given() || planned_nodes_ != nodes_.changes() || now >= resync_at_ ||
         now >= retry_at_;
}

asio::awaitable<void> Acting::wait(Duration span) {
  if (stopping_) {
    co_return;
  }
  timer_.expires_after(span);
  asio::error_code woken;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

void Acting::stop() {
  stopping_ = true;
  timer_.cancel();
}

asio::awaitable<Result<void>> Acting::run() {
  while (!stopping_) {
    if (!may_act()) {
      // Another replica knows of the fuse now, and this one plans anew when it leads again.
      planned_verdicts_.reset();
      fuse_.reset();
      trouble_.reset();
    } else if (is_due(Clock::now())) {
      co_await round();
    }
    co_await wait(kActingPulse);
  }
  co_return Result<void>();
}

asio::awaitable<void> Acting::round() {
  planned_verdicts_ = fleet_.verdicts_given();
  planned_nodes_ = nodes_.changes();
  const Deadline now = Clock::now();
  resync_at_ = now + kActingResync;
  if (now >= retry_at_) {
    retry_at_ = kNoDeadline;
    put_off_.clear();
  }
  ActionPlan plan = plan_actions(fleet_.nodes(), nodes_.marks(), policy_);
  note_fuse(plan);
  if (lease_ == nullptr) {
    tell_dry_run(plan);
    co_return;
  }
  co_await carry_out_plan(std::move(plan));
}

asio::awaitable<void> Acting::carry_out_plan(ActionPlan plan) {
  std::size_t tried = 0;
  for (const Action& action : plan.actions) {
    if (stopping_ || !may_act()) {
      co_return;
    }
    if (put_off_.contains(action.node) || !is_still_wanted(action)) {
      continue;
    }
    if (++tried > kMaxActionsInARound) {
      planned_verdicts_.reset();
      co_return;
    }
    const Outcome outcome = co_await carry_out(action);
    if (outcome != Outcome::Done) {
      retry_at_ = std::min(retry_at_, Clock::now() + kActingRetry);
    }
    if (outcome == Outcome::Later) {
      put_off_.insert(action.node);
    }
    if (outcome == Outcome::Refused) {
      co_return;
    }
    co_await wait(kActingPace);
  }
  if (put_off_.empty()) {
    trouble_.reset();
  }
}

bool Acting::is_still_wanted(const Action& action) const {
  if (action.kind != ActionKind::AddTaint) {
    return true;
  }
  const NodeRecord* record = fleet_.find(action.node);
  return record != nullptr && is_gpu_gone(*record);
}

void Acting::note_fuse(const ActionPlan& plan) {
  if (plan.fuse && plan.fuse != fuse_) {
    log_.error("the fuse is blown", {{"reason", *plan.fuse}});
  } else if (!plan.fuse && fuse_) {
    log_.info("the fuse is whole again", {{"gone", plan.gone}, {"may_be_tainted", plan.most_tainted}});
  }
  fuse_ = plan.fuse;
}

void Acting::tell_dry_run(const ActionPlan& plan) {
  std::set<std::string> now;
  for (const Action& action : plan.actions) {
    const std::string key = action.node + " " + std::string(to_string(action.kind)) + " " + action.condition.status +
                            " " + action.condition.reason;
    if (!told_.contains(key)) {
      log_.info("would act (dry run)", {{"node", action.node},
                                        {"action", to_string(action.kind)},
                                        {"status", action.condition.status},
                                        {"reason", action.condition.reason},
                                        {"event", action.event},
                                        {"message", action.condition.message}});
    }
    now.insert(key);
  }
  told_ = std::move(now);
}

asio::awaitable<Acting::Outcome> Acting::carry_out(Action action) {
  const auto node = nodes_.nodes().find(action.node);
  if (node == nodes_.nodes().end()) {
    co_return Outcome::Done;  // gone while others were written to
  }
  const Duration left = std::min(kActionTimeout, lease_->leads_for());
  const Deadline deadline = Clock::now() + left;
  if (is_taint(action.kind)) {
    co_return co_await write_taint(std::move(action), deadline);
  }
  if (action.event) {
    // Before the condition: who dies in between leaves the condition as it was, and the next one tells it again under
    // the same name.
    const Outcome told = co_await tell_event(action, deadline);
    if (told != Outcome::Done) {
      co_return told;
    }
  }
  co_return co_await write_condition(std::move(action), deadline);
}

asio::awaitable<Acting::Outcome> Acting::tell_event(Action action, Deadline deadline) {
  const auto node = nodes_.nodes().find(action.node);
  const auto marks = nodes_.marks().find(action.node);
  if (node == nodes_.nodes().end() || marks == nodes_.marks().end()) {
    co_return Outcome::Later;
  }
  KubeRequest request("POST", "/api/v1/namespaces/" + std::string(kNodeEventsNamespace) + "/events");
  request.is_repeatable = true;  // the same name twice is one Event
  request.body =
      text_of(condition_event(action, node->second.uid, marks->second, lease_->identity(), wall_clock_now()));
  const Result<KubeReply> reply = co_await client_.send(request, deadline);
  if (reply && reply->status == kConflict) {
    co_return Outcome::Done;  // told before
  }
  const Outcome outcome = conclude(ClusterWrite::Event, action, request, reply);
  const bool is_final =
      reply && reply->status < kServerError && reply->status != kTooMany && reply->status != kUnauthorized;
  // A server that will never take the Event must not keep the condition back.
  co_return is_final ? Outcome::Done : outcome;
}

asio::awaitable<Acting::Outcome> Acting::write_condition(Action action, Deadline deadline) {
  const auto node = nodes_.nodes().find(action.node);
  const auto marks = nodes_.marks().find(action.node);
  if (node == nodes_.nodes().end() || marks == nodes_.marks().end()) {
    co_return Outcome::Later;
  }
  const std::string& uid = node->second.uid;
  KubeRequest request("PATCH", node_path(action.node) + "/status");
  request.content_type = "application/strategic-merge-patch+json";
  request.is_repeatable = true;
  request.body = text_of(action.kind == ActionKind::DropCondition
                             ? condition_drop_patch(uid)
                             : condition_patch(uid, action.condition, marks->second, wall_clock_now()));
  const Result<KubeReply> reply = co_await client_.send(request, deadline);
  co_return conclude(write_of(action.kind), action, request, reply);
}

asio::awaitable<Acting::Outcome> Acting::write_taint(Action action, Deadline deadline) {
  const ClusterWrite write = write_of(action.kind);
  for (int tries = 1;; ++tries) {
    // As it is now, not as the watch last told it: the taints of others are sent along.
    const Result<Json> node = co_await client_.get(node_path(action.node), deadline);
    if (!node) {
      const bool is_gone = node.error().code == ErrorCode::NotFound;
      co_return is_gone ? Outcome::Done : failed(write, action, node.error(), Outcome::Refused);
    }
    const std::optional<Json> body = taint_patch(*node, action.kind == ActionKind::AddTaint);
    if (!body) {
      nodes_.take(*node);
      co_return Outcome::Done;
    }
    KubeRequest request("PATCH", node_path(action.node));
    request.content_type = "application/merge-patch+json";
    request.body = text_of(*body);
    const Result<KubeReply> reply = co_await client_.send(request, deadline);
    if (!reply || reply->status != kConflict || tries == kMaxTaintTries) {
      co_return conclude(write, action, request, reply);
    }
  }
}

Acting::Outcome Acting::conclude(ClusterWrite write, const Action& action, const KubeRequest& request,
                                 const Result<KubeReply>& reply) {
  if (!reply) {
    return failed(write, action, reply.error(), Outcome::Refused);
  }
  if (!reply->is_success()) {
    const bool is_of_all = reply->status == kUnauthorized || reply->status == kForbidden || reply->status == kTooMany ||
                           reply->status >= kServerError;
    return failed(write, action, kube_error(client_, request, *reply), is_of_all ? Outcome::Refused : Outcome::Later);
  }
  ++count(write).done;
  if (write != ClusterWrite::Event) {
    nodes_.take(reply->body);
  }
  log_.info("acted", {{"node", action.node},
                      {"action", to_string(write)},
                      {"status", action.condition.status},
                      {"reason", action.condition.reason}});
  return Outcome::Done;
}

Acting::Outcome Acting::failed(ClusterWrite write, const Action& action, const Error& error, Outcome outcome) {
  ++count(write).failed;
  if (trouble_ != error.what) {
    log_.warning("can not act, trying again",
                 {{"node", action.node}, {"action", to_string(write)}, {"reason", error.what}});
  }
  trouble_ = error.what;
  return outcome;
}

}  // namespace gpuskew
