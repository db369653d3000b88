#include <utility>

#include "runtime/kube/client.h"
#include "runtime/kube/client_state.h"
#include "runtime/kube/errors.h"
#include "runtime/kube/exchange.h"
#include "runtime/kube/json_text.h"
#include "runtime/kube/path.h"

namespace gpuskew {
namespace {

/// Of `conflict with "kubectl-label" using v1`. The name is written with Go's %q.
std::string manager_of(std::string_view message) {
  std::string manager;
  std::size_t at = message.find('"');
  if (at == std::string_view::npos) {
    return manager;
  }
  for (++at; at < message.size() && message[at] != '"'; ++at) {
    at += message[at] == '\\' && at + 1 < message.size() ? 1 : 0;
    manager += message[at];
  }
  return manager;
}

}  // namespace

std::vector<KubeConflict> conflicts_of(const nlohmann::json& status) {
  std::vector<KubeConflict> conflicts;
  const auto details = status.is_object() ? status.find("details") : status.end();
  if (details == status.end() || !details->is_object()) {
    return conflicts;
  }
  const auto causes = details->find("causes");
  if (causes == details->end() || !causes->is_array()) {
    return conflicts;
  }
  for (const nlohmann::json& cause : *causes) {
    if (text_at(cause, {"reason"}) == "FieldManagerConflict") {
      conflicts.push_back(KubeConflict{manager_of(text_at(cause, {"message"})), text_at(cause, {"field"})});
    }
  }
  return conflicts;
}

asio::awaitable<Result<KubeApplied>> KubeClient::apply(std::string path, nlohmann::json object,
                                                       std::string field_manager, bool force, Deadline deadline) {
  const auto state = state_;
  const std::string query = "fieldManager=" + query_escaped(field_manager) + "&force=" + (force ? "true" : "false");
  KubeRequest request("PATCH", with_query(path, query));
  request.content_type = "application/apply-patch+yaml";
  request.body = object.dump();
  Result<RawReply> raw = co_await fetch(state, request, deadline, nullptr);
  if (!raw) {
    co_return tl::unexpected(raw.error());
  }
  KubeReply reply = parsed_reply(std::move(*raw));
  KubeApplied applied;
  if (reply.status == 409) {
    applied.conflicts = conflicts_of(reply.body);
    applied.is_stale = applied.conflicts.empty();
  } else {
    if (!reply.is_success() || !reply.body.is_object()) {
      co_return tl::unexpected(reply_error(state->access, request, reply, state->credentials->problem()));
    }
    applied.object = std::move(reply.body);
  }
  co_return std::move(applied);
}

}  // namespace gpuskew
