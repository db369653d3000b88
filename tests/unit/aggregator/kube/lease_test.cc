#include "aggregator/kube/lease.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

using Json = nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kNow = from_unix_ms(1'796'054'737'123);  // 2026-11-30T16:05:37.123Z

TEST(Lease, OfTheServerIsReadAsItIs) {
  const auto record = lease_record(Json::parse(R"({"metadata": {"resourceVersion": "42"},
      "spec": {"holderIdentity": "a_1", "leaseDurationSeconds": 8, "leaseTransitions": 3}})"));
  ASSERT_TRUE(record) << record.error().what;
  EXPECT_EQ(*record, (LeaseRecord{"a_1", seconds(8), 3, "42"}));
}

TEST(Lease, WithoutAVersionCanNotBeUsed) {
  for (const char* text :
       {"null", "{}", R"({"metadata": {"resourceVersion": ""}})", R"({"metadata": {"resourceVersion": 4}})"}) {
    const auto record = lease_record(Json::parse(text));
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().code, ErrorCode::Malformed);
  }
}

TEST(Lease, OfAStrangerPromisesNoLongerThanItMay) {
  const auto record = lease_record(Json::parse(R"({"metadata": {"resourceVersion": "42"},
      "spec": {"holderIdentity": 5, "leaseDurationSeconds": 999999999}})"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->holder, "");
  EXPECT_EQ(record->promise, minutes(5));
}

TEST(Lease, IsMadeNewWithTimesThatKubernetesTakes) {
  const Json body = lease_body(nullptr, "gpuskew", "aggregator", "a_1", seconds(8), kNow);
  EXPECT_EQ(body.at("kind"), "Lease");
  EXPECT_EQ(body.at("metadata"), Json::parse(R"({"namespace": "gpuskew", "name": "aggregator"})"));
  EXPECT_EQ(body.at("spec"), Json::parse(R"({"holderIdentity": "a_1", "leaseDurationSeconds": 8, "leaseTransitions": 0,
      "acquireTime": "2026-11-30T16:05:37.123000Z", "renewTime": "2026-11-30T16:05:37.123000Z"})"));
}

TEST(Lease, TakenFromAnotherIsATransitionAndRenewedIsNone) {
  const Json mine = Json::parse(R"({"metadata": {"resourceVersion": "42", "labels": {"a": "b"}},
      "spec": {"holderIdentity": "a_1", "leaseTransitions": 3, "acquireTime": "then"}})");
  const Json taken = lease_body(mine, "n", "l", "b_2", seconds(8), kNow);
  EXPECT_EQ(taken.at("metadata"), mine.at("metadata")) << "the version makes a lost race a conflict";
  EXPECT_EQ(taken.at("spec").at("leaseTransitions"), 4);
  const Json renewed = lease_body(mine, "n", "l", "a_1", seconds(8), kNow);
  EXPECT_EQ(renewed.at("spec").at("leaseTransitions"), 3);
  EXPECT_EQ(renewed.at("spec").at("acquireTime"), "then");
  const Json given_back = lease_body(mine, "n", "l", "", seconds(8), kNow);
  EXPECT_EQ(given_back.at("spec").at("holderIdentity"), "");
  EXPECT_EQ(given_back.at("spec").at("leaseTransitions"), 3);
}

TEST(Lease, EveryRunHasAnIdentityOfItsOwn) {
  EXPECT_NE(replica_identity(), replica_identity());
}

}  // namespace
}  // namespace gpuskew
