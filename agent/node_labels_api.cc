#include "agent/node_labels_api.h"

#include <utility>

#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "agent/resident_memory.h"
#include "runtime/kube/client.h"

namespace gpuskew {

NodeLabelsApi::NodeLabelsApi(std::unique_ptr<KubeClient> client, std::string node)
    : client_(std::move(client)), node_(std::move(node)), path_("/api/v1/nodes/" + node_) {}

NodeLabelsApi::~NodeLabelsApi() = default;

Result<std::unique_ptr<NodeLabelsApi>> NodeLabelsApi::open(asio::any_io_executor executor, KubeAccess access,
                                                           std::string node) {
  KubeClientOptions options;
  options.user_agent = std::string(kLabelManager) + "/" GPUSKEW_VERSION;
  options.metadata_only = true;
  auto client = KubeClient::open(std::move(executor), std::move(access), std::move(options));
  if (!client) {
    return tl::unexpected(client.error());
  }
  return std::unique_ptr<NodeLabelsApi>(new NodeLabelsApi(std::move(*client), std::move(node)));
}

asio::awaitable<Result<PublishedLabels>> NodeLabelsApi::publish(NodeLabels wanted) {
  PublishedLabels published;
  ForeignLabels contested;
  for (int i = 0; i < kMaxLabelRounds; ++i) {
    Result<NodeMetadata> at = co_await read();
    if (!at) {
      co_return tl::unexpected(at.error());
    }
    LabelPlan plan = plan_labels(wanted, *at, contested);
    if (i == 0) {
      published.changes = changes_text(*at, plan);
    }
    published.count = plan.apply.size();
    published.left_to = plan.left_to;
    Result<Round> round = co_await carry_out(std::move(plan), std::move(*at));
    if (!round) {
      co_return tl::unexpected(round.error());
    }
    if (round->is_done) {
      co_return std::move(published);
    }
    contested.merge(std::move(round->contested));
  }
  co_return fail(ErrorCode::Internal, "node " + node_ + ": its labels were contested in each of " +
                                          std::to_string(kMaxLabelRounds) + " tries to apply them");
}

asio::awaitable<Result<NodeMetadata>> NodeLabelsApi::read() const {
  Result<nlohmann::json> object = co_await client_->get(path_);
  if (!object) {
    co_return tl::unexpected(object.error());
  }
  Result<NodeMetadata> metadata = node_metadata(*object);
  object->clear();
  release_unused_memory();  // the Node's text and a handshake, before the apply
  co_return std::move(metadata);
}

asio::awaitable<Result<NodeLabelsApi::Round>> NodeLabelsApi::carry_out(LabelPlan plan, NodeMetadata at) const {
  Round round;
  if (plan.is_apply_needed) {
    nlohmann::json object = apply_object(node_, at, plan);
    const Result<KubeApplied> applied =
        co_await client_->apply(path_, std::move(object), std::string(kLabelManager), plan.force);
    if (!applied) {
      co_return tl::unexpected(applied.error());
    }
    for (const KubeConflict& conflict : applied->conflicts) {
      round.contested[label_of_field(conflict.field)] = conflict.manager;
    }
    if (applied->is_stale || !applied->conflicts.empty()) {
      co_return std::move(round);
    }
  }
  const Result<void> removed = co_await remove(plan.remove);
  if (!removed) {
    co_return tl::unexpected(removed.error());
  }
  round.is_done = true;
  co_return std::move(round);
}

asio::awaitable<Result<void>> NodeLabelsApi::remove(std::vector<std::string> keys) const {
  if (keys.empty()) {
    co_return Result<void>();
  }
  nlohmann::json labels = nlohmann::json::object();
  for (const std::string& key : keys) {
    labels[key] = nullptr;
  }
  KubeRequest request("PATCH", path_ + "?fieldManager=" + std::string(kLabelManager));
  request.content_type = "application/merge-patch+json";
  request.is_repeatable = true;
  nlohmann::json metadata;
  metadata["labels"] = std::move(labels);
  nlohmann::json object;
  object["metadata"] = std::move(metadata);
  request.body = object.dump();
  const Result<KubeReply> reply = co_await client_->send(request);
  if (!reply) {
    co_return tl::unexpected(reply.error());
  }
  if (!reply->is_success()) {
    co_return tl::unexpected(kube_error(*client_, request, *reply));
  }
  co_return Result<void>();
}

}  // namespace gpuskew
