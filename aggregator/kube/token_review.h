#pragma once

// authentication.k8s.io/v1 TokenReview and authorization.k8s.io/v1 SubjectAccessReview: what we ask, and what the
// answers say. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace gpuskew {

/// Whose token it is, as the API server says.
struct TokenUser {
  std::string name;  ///< "system:serviceaccount:gpuskew:gpuskew-agent"
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  /// The only value of an extra key, "" when there is none or several.
  std::string only(std::string_view key) const;

  bool operator==(const TokenUser&) const = default;
};

/// Keys of TokenUser::extra that bound tokens have (Kubernetes' serviceaccount package). The node's since 1.30, the
/// pod's since 1.20 at least.
inline constexpr std::string_view kNodeNameExtra = "authentication.kubernetes.io/node-name";
inline constexpr std::string_view kPodNameExtra = "authentication.kubernetes.io/pod-name";
inline constexpr std::string_view kPodUidExtra = "authentication.kubernetes.io/pod-uid";

/// `audience` "": the API server's own.
nlohmann::json token_review(std::string_view token, std::string_view audience);

/// Errors: Denied (the token is no good, or for another audience; the server's reason is in it), Malformed (no
/// TokenReview). A server that says nothing of audiences did not look at them: Denied.
Result<TokenUser> read_token_review(const nlohmann::json& reply, std::string_view audience);

/// The path a reader of `path` needs the permission for: /metrics, as every Kubernetes component has it; of all others
/// "/gpuskew" and the path, because the role system:discovery lets every account get /api/*.
std::string access_path(std::string_view path);

/// May `user` do `verb` ("get") at the non-resource `path`?
nlohmann::json access_review(const TokenUser& user, std::string_view path, std::string_view verb);
/// Errors: Denied with the server's reason, Malformed.
Result<void> read_access_review(const nlohmann::json& reply);

/// "system:serviceaccount:NAMESPACE:NAME" -> "NAMESPACE/NAME"; "" for any other user.
std::string service_account_of(std::string_view user);

}  // namespace gpuskew
