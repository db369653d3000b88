// An API server's answer to a TokenReview or a SubjectAccessReview.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/kube/token_review.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

using Json = nlohmann::json;

void check_user(const Json& reply) {
  const auto user = read_token_review(reply, "gpuskew-aggregator");
  if (!user) {
    require(user.error().code == ErrorCode::Denied || user.error().code == ErrorCode::Malformed);
    return;
  }
  require(reply.at("status").at("authenticated") == true);
  require(!user->name.empty());
  // Whoever is taken for this audience is known without one, too.
  const auto again = read_token_review(reply, "");
  require(again && *again == *user);
  const std::string account = service_account_of(user->name);
  require(account.empty() || user->name.size() > account.size());
  const Json review = access_review(*user, "/metrics", "get");
  require(review.at("spec").at("user") == user->name);
}

void check(std::string_view text) {
  const Json reply = Json::parse(text, nullptr, false);
  if (reply.is_discarded()) {
    return;
  }
  check_user(reply);
  if (read_access_review(reply)) {
    require(reply.at("status").at("allowed") == true);
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
