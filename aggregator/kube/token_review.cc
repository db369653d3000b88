#include "aggregator/kube/token_review.h"

#include <algorithm>

namespace gpuskew {
namespace {

using Json = nlohmann::json;

// The value at a path of keys; null when any of them is not there.
const Json& at(const Json& from, std::initializer_list<const char*> keys) {
  static const Json kNothing;
  const Json* here = &from;
  for (const char* key : keys) {
    const auto found = here->is_object() ? here->find(key) : here->end();
    if (!here->is_object() || found == here->end()) {
      return kNothing;
    }
    here = &*found;
  }
  return *here;
}

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

// Empty when anything else is among them: a part of a list would say what the whole does not.
std::vector<std::string> texts(const Json& value) {
  if (!value.is_array() ||
      !std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); })) {
    return {};
  }
  return value.get<std::vector<std::string>>();
}

bool is_true(const Json& value) {
  return value.is_boolean() && value.get<bool>();
}

std::string or_else(std::string reason, const char* instead) {
  return reason.empty() ? instead : in_quotes(reason);
}

}  // namespace

std::string TokenUser::only(std::string_view key) const {
  const auto found = extra.find(std::string(key));
  return found == extra.end() || found->second.size() != 1 ? "" : found->second.front();
}

Json token_review(std::string_view token, std::string_view audience) {
  Json review{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}};
  review["spec"]["token"] = std::string(token);
  if (!audience.empty()) {
    review["spec"]["audiences"] = Json::array({std::string(audience)});
  }
  return review;
}

Result<TokenUser> read_token_review(const Json& reply, std::string_view audience) {
  const Json& status = at(reply, {"status"});
  if (!status.is_object()) {
    return fail(ErrorCode::Malformed, "the API server's answer is no TokenReview");
  }
  if (!is_true(at(status, {"authenticated"}))) {
    return fail(ErrorCode::Denied,
                "the API server does not know the token: " + or_else(text(at(status, {"error"})), "no reason given"));
  }
  const std::vector<std::string> audiences = texts(at(status, {"audiences"}));
  if (!audience.empty() && std::find(audiences.begin(), audiences.end(), audience) == audiences.end()) {
    return fail(ErrorCode::Denied, "the token is not for the audience " + std::string(audience));
  }
  const Json& user = at(status, {"user"});
  TokenUser out;
  out.name = text(at(user, {"username"}));
  out.uid = text(at(user, {"uid"}));
  out.groups = texts(at(user, {"groups"}));
  const Json& extra = at(user, {"extra"});
  if (extra.is_object()) {
    for (const auto& [key, values] : extra.items()) {
      out.extra.emplace(key, texts(values));
    }
  }
  if (out.name.empty()) {
    return fail(ErrorCode::Malformed, "the API server took the token and named no user");
  }
  return out;
}

std::string access_path(std::string_view path) {
  return path == "/metrics" ? std::string(path) : "/gpuskew" + std::string(path);
}

Json access_review(const TokenUser& user, std::string_view path, std::string_view verb) {
  Json review{{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}};
  Json& spec = review["spec"];
  spec["user"] = user.name;
  spec["groups"] = user.groups;
  if (!user.uid.empty()) {
    spec["uid"] = user.uid;
  }
  for (const auto& [key, values] : user.extra) {
    spec["extra"][key] = values;
  }
  spec["nonResourceAttributes"] = {{"path", std::string(path)}, {"verb", std::string(verb)}};
  return review;
}

Result<void> read_access_review(const Json& reply) {
  const Json& status = at(reply, {"status"});
  if (!status.is_object()) {
    return fail(ErrorCode::Malformed, "the API server's answer is no SubjectAccessReview");
  }
  if (is_true(at(status, {"allowed"})) && !is_true(at(status, {"denied"}))) {
    return {};
  }
  const std::string reason = text(at(status, {"reason"}));
  return fail(ErrorCode::Denied, or_else(reason, "no role allows it"));
}

std::string service_account_of(std::string_view user) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (user.substr(0, kPrefix.size()) != kPrefix) {
    return "";
  }
  user.remove_prefix(kPrefix.size());
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == user.size() ||
      user.find(':', colon + 1) != std::string_view::npos) {
    return "";
  }
  return std::string(user.substr(0, colon)) + "/" + std::string(user.substr(colon + 1));
}

}  // namespace gpuskew
