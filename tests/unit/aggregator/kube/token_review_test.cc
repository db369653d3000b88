#include "aggregator/kube/token_review.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using Json = nlohmann::json;
constexpr std::string_view kAudience = "gpuskew-aggregator";

/// What a current server says of an agent's token.
Json agents_review() {
  return Json::parse(R"({
    "kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1",
    "status": {
      "authenticated": true,
      "user": {
        "username": "system:serviceaccount:gpuskew:gpuskew-agent",
        "uid": "0f9d0a5e",
        "groups": ["system:serviceaccounts", "system:authenticated"],
        "extra": {
          "authentication.kubernetes.io/node-name": ["gpu-node-1"],
          "authentication.kubernetes.io/pod-name": ["gpuskew-agent-x7"],
          "authentication.kubernetes.io/pod-uid": ["5c1e"]
        }
      },
      "audiences": ["gpuskew-aggregator"]
    }})");
}

TEST(TokenReview, AsksForTheTokenAndItsAudience) {
  const Json review = token_review("the-token", kAudience);

  EXPECT_EQ(review.at("kind"), "TokenReview");
  EXPECT_EQ(review.at("spec"), (Json{{"token", "the-token"}, {"audiences", {"gpuskew-aggregator"}}}));
  EXPECT_FALSE(token_review("the-token", "").at("spec").contains("audiences"));
}

TEST(TokenReview, ReadsWhoseTokenItIs) {
  const Result<TokenUser> user = read_token_review(agents_review(), kAudience);

  ASSERT_TRUE(user) << user.error().what;
  EXPECT_EQ(user->name, "system:serviceaccount:gpuskew:gpuskew-agent");
  EXPECT_EQ(user->uid, "0f9d0a5e");
  EXPECT_EQ(user->groups.size(), 2u);
  EXPECT_EQ(user->only(kNodeNameExtra), "gpu-node-1");
  EXPECT_EQ(user->only(kPodUidExtra), "5c1e");
}

TEST(TokenReview, DeniesATokenThatTheServerDoesNotKnowAndSaysWhy) {
  Json review = agents_review();
  review["status"] = {{"error", "token has expired"}};

  const Result<TokenUser> user = read_token_review(review, kAudience);

  EXPECT_EQ(user.error().code, ErrorCode::Denied);
  EXPECT_NE(user.error().what.find("token has expired"), std::string::npos);
}

TEST(TokenReview, OnlyTrueIsAuthenticated) {
  for (const Json& value : {Json(false), Json(nullptr), Json("true"), Json(1), Json::array({true})}) {
    Json review = agents_review();
    review["status"]["authenticated"] = value;
    EXPECT_EQ(read_token_review(review, kAudience).error().code, ErrorCode::Denied) << value;
  }
}

TEST(TokenReview, DeniesATokenOfAnotherAudience) {
  for (const Json& audiences : {Json::array({"kubernetes"}), Json::array(), Json("gpuskew-aggregator"), Json(nullptr),
                                Json::array({1, Json::array({"gpuskew-aggregator"})})}) {
    Json review = agents_review();
    review["status"]["audiences"] = audiences;
    EXPECT_EQ(read_token_review(review, kAudience).error().code, ErrorCode::Denied) << audiences;
  }
}

TEST(TokenReview, AServerThatSaysNothingOfAudiencesDidNotLookAtThem) {
  Json review = agents_review();
  review["status"].erase("audiences");

  EXPECT_EQ(read_token_review(review, kAudience).error().code, ErrorCode::Denied);
  EXPECT_TRUE(read_token_review(review, "")) << "nobody asked for one";
}

TEST(TokenReview, WhatIsNoReviewIsMalformed) {
  for (const char* reply : {"null", "[]", "\"x\"", "{}", R"({"status":null})", R"({"status":[]})", R"({"status":7})"}) {
    EXPECT_EQ(read_token_review(Json::parse(reply), kAudience).error().code, ErrorCode::Malformed) << reply;
  }
}

TEST(TokenReview, ATokenOfNobodyIsMalformed) {
  for (const Json& user :
       {Json(nullptr), Json::object(), Json("root"), Json{{"username", 7}}, Json{{"username", ""}}}) {
    Json review = agents_review();
    review["status"]["user"] = user;
    EXPECT_EQ(read_token_review(review, kAudience).error().code, ErrorCode::Malformed) << user;
  }
}

TEST(TokenReview, AClaimWithSeveralValuesOrNoneIsNoClaim) {
  for (const Json& nodes : {Json::array({"gpu-node-1", "gpu-node-2"}), Json::array(), Json("gpu-node-1"), Json(nullptr),
                            Json::array({7})}) {
    Json review = agents_review();
    review["status"]["user"]["extra"][std::string(kNodeNameExtra)] = nodes;
    EXPECT_EQ(read_token_review(review, kAudience).value().only(kNodeNameExtra), "") << nodes;
  }
}

TEST(TokenReview, AWordBesideSomethingElseIsNotTheOnlyValue) {
  Json review = agents_review();
  review["status"]["user"]["extra"][std::string(kNodeNameExtra)] = Json::array({"gpu-node-1", 7});

  EXPECT_EQ(read_token_review(review, kAudience).value().only(kNodeNameExtra), "");
}

TEST(AccessReview, IsOfAPathThatNoDefaultRoleOfTheClusterGivesAway) {
  EXPECT_EQ(access_path("/api/v1/nodes"), "/gpuskew/api/v1/nodes") << "system:discovery: everybody may get /api/*";
  EXPECT_EQ(access_path("/metrics"), "/metrics");
  EXPECT_EQ(access_path("/metrics/../api/v1/nodes"), "/gpuskew/metrics/../api/v1/nodes");
}

TEST(AccessReview, AsksWithEverythingThatIsKnownOfTheUser) {
  const TokenUser user = read_token_review(agents_review(), kAudience).value();

  const Json spec = access_review(user, "/api/v1/nodes", "get").at("spec");

  EXPECT_EQ(spec.at("user"), user.name);
  EXPECT_EQ(spec.at("uid"), "0f9d0a5e");
  EXPECT_EQ(spec.at("groups").size(), 2u);
  EXPECT_EQ(spec.at("extra").at(std::string(kNodeNameExtra)), Json::array({"gpu-node-1"}));
  EXPECT_EQ(spec.at("nonResourceAttributes"), (Json{{"path", "/api/v1/nodes"}, {"verb", "get"}}));
}

TEST(AccessReview, OnlyAllowedIsAllowed) {
  EXPECT_TRUE(read_access_review(Json::parse(R"({"status":{"allowed":true}})")));
  EXPECT_TRUE(read_access_review(Json::parse(R"({"status":{"allowed":true,"denied":false}})")));
  for (const char* reply : {R"({"status":{"allowed":false}})", R"({"status":{}})", R"({"status":{"allowed":"true"}})",
                            R"({"status":{"allowed":1}})", R"({"status":{"allowed":true,"denied":true}})"}) {
    EXPECT_EQ(read_access_review(Json::parse(reply)).error().code, ErrorCode::Denied) << reply;
  }
  for (const char* reply : {"null", "{}", "[]", R"({"status":"allowed"})"}) {
    EXPECT_EQ(read_access_review(Json::parse(reply)).error().code, ErrorCode::Malformed) << reply;
  }
}

TEST(AccessReview, SaysTheServersReason) {
  const Result<void> may = read_access_review(Json::parse(R"({"status":{"allowed":false,"reason":"not today"}})"));
  EXPECT_NE(may.error().what.find("not today"), std::string::npos);
}

TEST(ServiceAccountOf, IsTheNamespaceAndTheName) {
  EXPECT_EQ(service_account_of("system:serviceaccount:gpuskew:gpuskew-agent"), "gpuskew/gpuskew-agent");
}

TEST(ServiceAccountOf, OthersHaveNone) {
  for (const char* user : {"", "admin", "system:serviceaccount:", "system:serviceaccount:gpuskew",
                           "system:serviceaccount::gpuskew-agent", "system:serviceaccount:gpuskew:",
                           "system:serviceaccount:gpuskew:gpuskew-agent:x", "xsystem:serviceaccount:a:b"}) {
    EXPECT_EQ(service_account_of(user), "") << user;
  }
}

}  // namespace
}  // namespace gpuskew
