#include <utility>

#include "runtime/kube/client.h"
#include "runtime/kube/client_state.h"
#include "runtime/kube/errors.h"
#include "runtime/kube/json_text.h"
#include "runtime/kube/path.h"

namespace gpuskew {
namespace {

/// What the server takes as a pod's eviction; 1.22 was the first with policy/v1. The group's versions do not say it:
/// 1.21 has policy/v1 for budgets only.
std::string eviction_version(const nlohmann::json& core_resources) {
  const auto resources = core_resources.find("resources");
  if (resources == core_resources.end() || !resources->is_array()) {
    return "";
  }
  for (const nlohmann::json& resource : *resources) {
    if (text_at(resource, {"name"}) == "pods/eviction") {
      return text_at(resource, {"group"}) + "/" + text_at(resource, {"version"});
    }
  }
  return "";
}

/// The server's words, with those of the budget; "" when it was no budget that refused.
std::string budget_refusal(const KubeReply& reply) {
  const auto details = reply.body.is_object() ? reply.body.find("details") : reply.body.end();
  if (details == reply.body.end() || !details->is_object() || !details->contains("causes")) {
    return "";
  }
  for (const nlohmann::json& cause : (*details)["causes"]) {
    if (text_at(cause, {"reason"}) == "DisruptionBudget") {
      return shown_text(text_at(reply.body, {"message"}) + " " + text_at(cause, {"message"}));
    }
  }
  return "";
}

nlohmann::json eviction_body(const std::string& version, const std::string& name_space, const std::string& pod) {
  nlohmann::json body;
  body["apiVersion"] = version;
  body["kind"] = "Eviction";
  body["metadata"]["name"] = pod;
  body["metadata"]["namespace"] = name_space;
  // Said here and in the query: nothing may ever be evicted by asking.
  body["deleteOptions"]["dryRun"] = nlohmann::json::array({"All"});
  return body;
}

asio::awaitable<Result<std::string>> known_eviction_version(KubeClientState state, KubeClient& client,
                                                            Deadline deadline) {
  if (state->eviction_version.empty()) {
    const Result<nlohmann::json> resources = co_await client.get("/api/v1", deadline);
    if (!resources) {
      co_return tl::unexpected(resources.error());
    }
    state->eviction_version = eviction_version(*resources);
    if (state->eviction_version.empty()) {
      co_return fail(ErrorCode::Unsupported, server_name(state->access) + ": has no pods/eviction");
    }
  }
  co_return state->eviction_version;
}

}  // namespace

asio::awaitable<Result<EvictionAnswer>> try_eviction(KubeClient& client, std::string name_space, std::string pod,
                                                     Deadline deadline) {
  const Result<std::string> version = co_await known_eviction_version(client.state(), client, deadline);
  if (!version) {
    co_return tl::unexpected(version.error());
  }
  KubeRequest request("POST", "/api/v1/namespaces/" + query_escaped(name_space) + "/pods/" + query_escaped(pod) +
                                  "/eviction?dryRun=All");
  request.body = eviction_body(*version, name_space, pod).dump();
  request.is_repeatable = true;     // a dry run
  request.waits_when_busy = false;  // 429 is a budget's answer, too
  const Result<KubeReply> reply = co_await client.send(request, deadline);
  if (!reply) {
    co_return tl::unexpected(reply.error());
  }
  EvictionAnswer answer;
  answer.allowed = reply->is_success();
  if (!answer.allowed) {
    answer.reason = budget_refusal(*reply);
    const std::string message = text_at(reply->body, {"message"});
    if (reply->status == 500 && message.find("more than one PodDisruptionBudget") != std::string::npos) {
      answer.reason = shown_text(message);
    }
    if (answer.reason.empty()) {
      co_return tl::unexpected(kube_error(client, request, *reply));
    }
  }
  co_return std::move(answer);
}

}  // namespace gpuskew
