#include "aggregator/api_auth.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

HttpRequest request(const std::string& path, const std::string& authorization = "") {
  HttpRequest made;
  made.method = "GET";
  made.path = path;
  if (!authorization.empty()) {
    made.headers.emplace_back("authorization", authorization);
  }
  return made;
}

TEST(ApiAuth, AsksNobodyWithoutAToken) {
  EXPECT_FALSE(ApiAuth(std::nullopt).refuse(request("/api/v1/nodes")));
}

TEST(ApiAuth, LetsTheRightTokenIn) {
  const ApiAuth auth(kToken);
  EXPECT_FALSE(auth.refuse(request("/api/v1/nodes", std::string("Bearer ") + kToken)));
  EXPECT_FALSE(auth.refuse(request("/api/v1/nodes", std::string("bearer ") + kToken)));
}

TEST(ApiAuth, AnswersEverythingElseWith401AndTheWayIn) {
  const ApiAuth auth(kToken);
  for (const std::string& header : {std::string(), std::string("Basic abc"), std::string("Bearer"),
                                    std::string("Bearer wrong"), std::string("Bearer ") + kToken + "x"}) {
    const std::optional<HttpResponse> refused = auth.refuse(request("/metrics", header));
    ASSERT_TRUE(refused) << header;
    EXPECT_EQ(refused->status, 401);
    EXPECT_EQ(refused->headers.at(0).first, "WWW-Authenticate");
    EXPECT_NE(refused->body.find("api.token_file"), std::string::npos);
  }
}

TEST(ApiAuth, HealthChecksNeedNoToken) {
  const ApiAuth auth(kToken);
  EXPECT_FALSE(auth.refuse(request("/healthz")));
  EXPECT_FALSE(auth.refuse(request("/readyz")));
}

}  // namespace
}  // namespace gpuskew
