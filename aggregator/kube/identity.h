#pragma once

// Who shows a token: agents by their pod's, people and Prometheus at the API by theirs. The API server is asked; its
// answers are kept for a short while.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "aggregator/kube/token_review.h"
#include "core/result.h"
#include "core/time.h"
#include "runtime/http_server.h"
#include "runtime/kube/client.h"

namespace gpuskew {

/// The audience that agents' tokens are projected for.
inline constexpr std::string_view kTokenAudience = "gpuskew-aggregator";
/// Questions to the API server at once; others wait their turn, so that a storm of reconnects or of garbage is not one
/// of TokenReviews.
inline constexpr std::size_t kMaxReviewsAtOnce = 16;
/// How long the API believes what it was told of a token: as long may one be used that was taken back.
inline constexpr Duration kReviewLifetime = std::chrono::seconds(30);
inline constexpr std::size_t kMaxKeptReviews = 1024;
inline constexpr Duration kReviewTimeout = std::chrono::seconds(5);

class KubeIdentity {
 public:
  /// `agent_account`: "NAMESPACE/NAME" of the service account whose pods are agents. `client` must outlive the object.
  KubeIdentity(asio::any_io_executor executor, KubeClient& client, std::string agent_account);

  /// The node of the pod that a token is bound to: by the token's own node claim, else (servers before 1.30) by the
  /// pod's spec.nodeName, when the pod still has the uid of the token. Errors: Denied; others when nobody could be
  /// asked.
  asio::awaitable<Result<std::string>> node_of(std::string token);

  /// nullopt: the request may go on. Otherwise 401, 403, or 503 while nobody can be asked. Health checks need no token.
  /// The permission is `get` on access_path() of the path (ClusterRole's nonResourceURLs).
  asio::awaitable<std::optional<HttpResponse>> refuse(HttpRequest request);

 private:
  using Digest = std::array<unsigned char, 32>;
  asio::awaitable<Result<nlohmann::json>> ask(std::string path, nlohmann::json review);
  asio::awaitable<Result<TokenUser>> user_of(std::string token, std::string audience);
  asio::awaitable<Result<std::string>> node_of_pod(TokenUser user, std::string account);
  asio::awaitable<Result<void>> may_get(std::string token, std::string path);
  asio::awaitable<void> enter();
  void leave();

  KubeClient& client_;
  std::string agent_account_;
  std::map<std::pair<Digest, std::string>, Deadline> allowed_until_;  ///< by the token's SHA-256 and the path
  std::size_t asking_ = 0;
  asio::steady_timer turn_;
};

}  // namespace gpuskew
