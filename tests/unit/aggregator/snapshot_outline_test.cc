#include "aggregator/snapshot_outline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

std::optional<std::string> facts_of(const std::string& frame) {
  std::string facts;
  return outline_snapshot(frame, facts) ? std::optional(facts) : std::nullopt;
}

TEST(SnapshotOutline, ReadsTheSequenceAndTheSnapshotsBytes) {
  std::string facts;
  const std::string frame = snapshot_message(healthy_snapshot("gpu-1"), 300);
  const std::optional<SnapshotOutline> outline = outline_snapshot(frame, facts);
  ASSERT_TRUE(outline);
  EXPECT_EQ(outline->sequence, 300u);
  v1::Snapshot snapshot;
  ASSERT_TRUE(snapshot.ParseFromArray(outline->wire.data(), static_cast<int>(outline->wire.size())));
  EXPECT_EQ(snapshot.node(), "gpu-1");
}

TEST(SnapshotOutline, FactsDoNotDependOnSequenceAndTime) {
  Snapshot later = healthy_snapshot("gpu-1");
  later.taken_at += std::chrono::hours(5);
  EXPECT_EQ(facts_of(snapshot_message(healthy_snapshot("gpu-1"), 1)), facts_of(snapshot_message(later, 70'000)));
}

TEST(SnapshotOutline, FactsDifferWhenAnyFactDoes) {
  Snapshot other = healthy_snapshot("gpu-1");
  other.agent_version = "0.1.1";
  EXPECT_NE(facts_of(snapshot_message(healthy_snapshot("gpu-1"), 1)), facts_of(snapshot_message(other, 1)));
}

TEST(SnapshotOutline, OtherMessagesAreLeftToTheParser) {
  EXPECT_FALSE(facts_of(hello_message("gpu-1")));
  EXPECT_FALSE(facts_of(heartbeat_message(1)));
  EXPECT_FALSE(facts_of(""));
  EXPECT_FALSE(facts_of(snapshot_message(healthy_snapshot("gpu-1"), 1) + heartbeat_message(2)));
}

RC_GTEST_PROP(SnapshotOutline, TakesFieldsOfLaterVersionsIntoTheFacts, (const std::string& extra)) {
  const std::string frame = snapshot_message(plain_snapshot("gpu-1"), 1);
  v1::AgentMessage message;
  RC_ASSERT(message.ParseFromString(frame));
  std::string wire = message.snapshot().SerializeAsString();
  wire += static_cast<char>(0xa2);  // field 100, length-delimited
  wire += static_cast<char>(0x06);
  RC_PRE(extra.size() < 128);
  wire += static_cast<char>(extra.size());
  wire += extra;
  RC_ASSERT(message.mutable_snapshot()->ParseFromString(wire));
  const std::optional<std::string> facts = facts_of(message.SerializeAsString());
  RC_ASSERT(facts.has_value());
  RC_ASSERT(facts != facts_of(frame));
}

RC_GTEST_PROP(SnapshotOutline, NeverReadsPastAnyBytes, (const std::string& bytes)) {
  std::string facts;
  const std::string frame = "\x12" + bytes;
  if (const std::optional<SnapshotOutline> outline = outline_snapshot(frame, facts)) {
    RC_ASSERT(facts.size() <= frame.size());
    RC_ASSERT(outline->wire.size() <= frame.size());
  }
}

}  // namespace
}  // namespace gpuskew
