#include "aggregator/kube/identity.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>

#include <asio/experimental/as_tuple.hpp>
#include <asio/use_awaitable.hpp>
#include <openssl/sha.h>

#include "aggregator/api_auth.h"
#include "aggregator/api_response.h"
#include "core/label.h"
#include "runtime/kube/json_text.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);
constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

std::array<unsigned char, 32> sha256(const std::string& text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

HttpResponse refusal(int status, const std::string& why) {
  HttpResponse response = error_response(status, why);
  if (status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"gpuskew\"");
  }
  return response;
}

}  // namespace

KubeIdentity::KubeIdentity(asio::any_io_executor executor, KubeClient& client, std::string agent_account)
    : client_(client), agent_account_(std::move(agent_account)), turn_(std::move(executor), kNoDeadline) {}

asio::awaitable<void> KubeIdentity::enter() {
  while (asking_ >= kMaxReviewsAtOnce) {
    co_await turn_.async_wait(kAsTuple);
  }
  ++asking_;
}

void KubeIdentity::leave() {
  --asking_;
  turn_.cancel_one();
}

asio::awaitable<Result<Json>> KubeIdentity::ask(std::string path, Json review) {
  co_await enter();
  struct Turn {
    KubeIdentity& owner;
    ~Turn() { owner.leave(); }
  };
  const Turn turn{*this};
  KubeRequest request("POST", std::move(path));
  request.is_repeatable = true;  // asking twice changes nothing
  request.body = review.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Deadline deadline = Clock::now() + kReviewTimeout;
  Result<KubeReply> reply = co_await client_.send(request, deadline);
  if (!reply) {
    co_return tl::unexpected(reply.error());
  }
  if (!reply->is_success()) {
    // Not Denied: the aggregator's own account may not ask, which says nothing of the token.
    co_return fail(ErrorCode::Internal, kube_error(client_, request, *reply).what);
  }
  co_return std::move(reply->body);
}

asio::awaitable<Result<TokenUser>> KubeIdentity::user_of(std::string token, std::string audience) {
  if (token.size() > kMaxTokenBytes) {
    co_return fail(ErrorCode::Denied, "the token is longer than any token is");
  }
  Json review = token_review(token, audience);
  const Result<Json> reply = co_await ask(kTokenReviews, std::move(review));
  if (!reply) {
    co_return tl::unexpected(reply.error());
  }
  co_return read_token_review(*reply, audience);
}

asio::awaitable<Result<std::string>> KubeIdentity::node_of(std::string token) {
  Result<TokenUser> user = co_await user_of(std::move(token), std::string(kTokenAudience));
  if (!user) {
    co_return tl::unexpected(user.error());
  }
  const std::string account = service_account_of(user->name);
  if (account != agent_account_) {
    co_return fail(ErrorCode::Denied,
                   "the token is " + in_quotes(user->name) + "'s, agents run as the service account " + agent_account_);
  }
  if (std::string node = user->only(kNodeNameExtra); !node.empty()) {
    co_return node;
  }
  co_return co_await node_of_pod(std::move(*user), account);
}

asio::awaitable<Result<std::string>> KubeIdentity::node_of_pod(TokenUser user, std::string account) {
  const std::string pod = user.only(kPodNameExtra);
  const std::string uid = user.only(kPodUidExtra);
  if (uid.empty() || !is_dns_subdomain(pod)) {
    co_return fail(ErrorCode::Denied, "the token is not bound to a pod: agents use a projected one");
  }
  const std::string name_space = account.substr(0, account.find('/'));
  const std::string path = "/api/v1/namespaces/" + name_space + "/pods/" + pod;
  const Deadline deadline = Clock::now() + kReviewTimeout;
  const Result<Json> found = co_await client_.get(path, deadline);
  if (!found) {
    if (found.error().code == ErrorCode::NotFound) {
      co_return fail(ErrorCode::Denied, "the token's pod " + name_space + "/" + pod + " is gone");
    }
    co_return fail(ErrorCode::Internal, found.error().what);
  }
  if (text_at(*found, {"metadata", "uid"}) != uid) {
    co_return fail(ErrorCode::Denied, "the token is of an earlier pod of the name " + name_space + "/" + pod);
  }
  std::string node = text_at(*found, {"spec", "nodeName"});
  if (node.empty()) {
    co_return fail(ErrorCode::Denied, "the token's pod " + name_space + "/" + pod + " is on no node");
  }
  co_return node;
}

asio::awaitable<Result<void>> KubeIdentity::may_get(std::string token, std::string path) {
  Result<TokenUser> user = co_await user_of(token, std::string(kTokenAudience));
  if (!user && user.error().code == ErrorCode::Denied) {
    user = co_await user_of(std::move(token), "");
  }
  if (!user) {
    co_return tl::unexpected(user.error());
  }
  Json review = access_review(*user, path, "get");
  const Result<Json> reply = co_await ask(kAccessReviews, std::move(review));
  if (!reply) {
    co_return tl::unexpected(reply.error());
  }
  const Result<void> may = read_access_review(*reply);
  if (!may && may.error().code == ErrorCode::Denied) {
    // Unsupported tells this 403 from a 401's Denied.
    co_return fail(ErrorCode::Unsupported, in_quotes(user->name) + " may not get " + in_quotes(path) + ": " +
                                               may.error().what + "; bind the ClusterRole gpuskew-reader to it");
  }
  co_return may;
}

asio::awaitable<std::optional<HttpResponse>> KubeIdentity::refuse(HttpRequest request) {
  if (request.path == "/healthz" || request.path == "/readyz") {
    co_return std::nullopt;
  }
  const std::optional<std::string_view> token = bearer_token(request);
  if (!token || token->empty()) {
    co_return refusal(401,
                      "no token was sent: send a Kubernetes token as \"Authorization: Bearer TOKEN\" "
                      "(gpuskew --token-file; kubectl create token makes one)");
  }
  std::string shown(*token);
  const std::pair<Digest, std::string> key(sha256(shown), request.path);
  const Deadline now = Clock::now();
  if (const auto kept = allowed_until_.find(key); kept != allowed_until_.end() && now < kept->second) {
    co_return std::nullopt;
  }
  std::string needed = access_path(request.path);
  const Result<void> may = co_await may_get(std::move(shown), std::move(needed));
  if (may) {
    if (allowed_until_.size() >= kMaxKeptReviews) {
      std::erase_if(allowed_until_, [now](const auto& entry) { return entry.second <= now; });
    }
    if (allowed_until_.size() < kMaxKeptReviews) {
      allowed_until_.insert_or_assign(key, now + kReviewLifetime);
    }
    co_return std::nullopt;
  }
  switch (may.error().code) {
    case ErrorCode::Denied:
      co_return refusal(401, may.error().what);
    case ErrorCode::Unsupported:
      co_return refusal(403, may.error().what);
    default:
      co_return refusal(503, "the token could not be checked: " + may.error().what);
  }
}

}  // namespace gpuskew
