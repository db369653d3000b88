#include "aggregator/stream_conversation.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "runtime/frame.h"
#include "tests/unit/aggregator/rig.h"
#include "tests/unit/proto/any_snapshot.h"

namespace gpuskew {
namespace {

class Conversation : public testing::Test {
 protected:
  std::optional<Refused> take(const std::string& frame, Time now = kNow) {
    out.clear();
    return agent.take(frame, now, out);
  }

  /// What the last take() answered.
  std::vector<v1::AggregatorMessage> answers() const {
    FrameReader reader;
    reader.feed(out);
    std::vector<v1::AggregatorMessage> messages;
    for (;;) {
      Result<std::optional<std::string_view>> frame = reader.next();
      if (!frame || !*frame) {
        return messages;
      }
      EXPECT_TRUE(messages.emplace_back().ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size())));
    }
  }

  void greet() { ASSERT_FALSE(take(hello_message("gpu-1"))); }

  Rig rig;
  StreamCounts counts;
  ConversationScratch scratch{"this-run"};
  AgentConversation agent{{"gpu-1"}, rig.recorder, counts, scratch};
  std::string out;
};

TEST_F(Conversation, WelcomesAnAgentWhoseCertificateNamesItsNode) {
  greet();
  ASSERT_EQ(answers().size(), 1u);
  EXPECT_EQ(answers()[0].welcome().version(), 1u);
  EXPECT_EQ(answers()[0].welcome().instance(), "this-run");
  EXPECT_EQ(agent.node(), "gpu-1");
}

TEST_F(Conversation, TakesASnapshotAndAcknowledgesIt) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  ASSERT_EQ(answers().size(), 1u);
  EXPECT_EQ(answers()[0].ack().sequence(), 1u);
  ASSERT_NE(rig.fleet.find("gpu-1"), nullptr);
  EXPECT_EQ(rig.fleet.find("gpu-1")->verdict.state, NodeState::Ok);
  EXPECT_EQ(counts.reports, 1u);
  EXPECT_TRUE(rig.writer.has_pending());
}

TEST_F(Conversation, ARepeatedSnapshotIsOnlyHeard) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  rig.writer.flush(kNow);
  Snapshot again = healthy_snapshot("gpu-1");
  again.taken_at += std::chrono::hours(1);
  ASSERT_FALSE(take(snapshot_message(again, 2), kNow + std::chrono::seconds(9)));
  EXPECT_EQ(answers().at(0).ack().sequence(), 2u);
  EXPECT_FALSE(rig.writer.has_pending());
  EXPECT_EQ(counts.unchanged_reports, 1u);
  EXPECT_EQ(rig.fleet.find("gpu-1")->last_heard, kNow + std::chrono::seconds(9));
}

TEST_F(Conversation, AChangeAfterARepeatedSnapshotIsTaken) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 2)));
  ASSERT_FALSE(take(snapshot_message(bumped_snapshot("gpu-1"), 3)));
  EXPECT_EQ(rig.fleet.find("gpu-1")->snapshot.kernel->text(), "5.15.0-122-generic");
  EXPECT_EQ(rig.fleet.find("gpu-1")->verdict.state, NodeState::Broken);
}

// What is not sent again is not decoded again; the fleet must never show it.
RC_GTEST_FIXTURE_PROP(Conversation, TheFleetHoldsWhatTheAgentSaidLastWhateverItSaidBefore, ()) {
  out.clear();
  RC_ASSERT(!agent.take(hello_message("gpu-1"), kNow, out));
  Snapshot said = any_snapshot();
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    const Snapshot other = any_snapshot();
    said.taken_at = other.taken_at;
    if (*rc::gen::arbitrary<bool>()) {
      said.kernel = other.kernel;
      said.holders = other.holders;
      said.remembered = other.remembered;
    }
    if (*rc::gen::arbitrary<bool>()) {
      said.agent_version = other.agent_version;
      said.runtime = other.runtime;
      said.expected_gpus = other.expected_gpus;
    }
    said.node = "gpu-1";
    v1::Snapshot wire;
    to_wire(said, wire);
    const Snapshot whole = from_wire(wire).value();
    RC_ASSERT(!agent.take(snapshot_message(said, sequence), kNow, out));
    RC_ASSERT(rig.fleet.find("gpu-1")->snapshot.same_facts(whole));
  }
}

TEST_F(Conversation, NodesThatAreAlikeShareTheirFacts) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  AgentConversation other({"gpu-2"}, rig.recorder, counts, scratch);
  ASSERT_FALSE(other.take(hello_message("gpu-2"), kNow, out));
  ASSERT_FALSE(other.take(snapshot_message(bumped_snapshot("gpu-2"), 1), kNow, out));
  ASSERT_FALSE(other.take(snapshot_message(healthy_snapshot("gpu-2"), 2), kNow, out));
  const Snapshot& first = rig.fleet.find("gpu-1")->snapshot;
  const Snapshot& second = rig.fleet.find("gpu-2")->snapshot;
  EXPECT_EQ(&first.os.value(), &second.os.value());
  EXPECT_EQ(&first.kernel.value(), &second.kernel.value()) << "changed, and then equal again";
}

TEST_F(Conversation, AChangeIsNotPutOnTopOfWhatAnotherConversationSaid) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  AgentConversation newer({"gpu-1"}, rig.recorder, counts, scratch);
  ASSERT_FALSE(newer.take(hello_message("gpu-1"), kNow, out));
  ASSERT_FALSE(newer.take(snapshot_message(bumped_snapshot("gpu-1"), 1), kNow, out));
  Snapshot changed = healthy_snapshot("gpu-1");
  changed.architecture = Fact<std::string>::known("aarch64", "/sbin/init");
  ASSERT_FALSE(take(snapshot_message(changed, 2)));
  EXPECT_TRUE(rig.fleet.find("gpu-1")->snapshot.same_facts(changed));
}

TEST_F(Conversation, AChangedFieldThatDoesNotParseIsRefusedAndChangesNothing) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  std::string frame = snapshot_message(healthy_snapshot("gpu-1"), 2);
  const std::size_t at = frame.find("x86_64");
  frame[at] = '\xff';  // no UTF-8
  const std::optional<Refused> refused = take(frame);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Protocol);
  EXPECT_EQ(rig.fleet.find("gpu-1")->snapshot.architecture.value(), "x86_64");
}

TEST_F(Conversation, JudgesByTheAggregatorsClockNotTheAgents) {
  greet();
  Snapshot snapshot = healthy_snapshot("gpu-1");
  snapshot.taken_at = from_unix_ms(0);
  ASSERT_FALSE(take(snapshot_message(snapshot, 1)));
  EXPECT_EQ(rig.fleet.find("gpu-1")->last_heard, kNow);
  EXPECT_EQ(rig.fleet.find("gpu-1")->history.last_good->at, kNow);
}

TEST_F(Conversation, RefusesANodeThatTheCertificateDoesNotName) {
  const std::optional<Refused> refused = take(hello_message("gpu-2"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Identity);
  EXPECT_EQ(refused->node, "gpu-2");
  EXPECT_NE(refused->why.find("gpu-1"), std::string::npos) << refused->why;
  EXPECT_EQ(answers().at(0).refusal().code(), v1::Refusal::IDENTITY);
}

TEST_F(Conversation, RefusesASnapshotOfAnotherNode) {
  greet();
  const std::optional<Refused> refused = take(snapshot_message(healthy_snapshot("gpu-2"), 1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Identity);
  EXPECT_EQ(rig.fleet.find("gpu-2"), nullptr);
}

TEST_F(Conversation, RefusesASnapshotOfAnotherNodeThatTheCertificateNamesToo) {
  AgentConversation twice({"gpu-1", "gpu-2"}, rig.recorder, counts, scratch);
  ASSERT_FALSE(twice.take(hello_message("gpu-1"), kNow, out));
  const std::optional<Refused> refused = twice.take(snapshot_message(healthy_snapshot("gpu-2"), 1), kNow, out);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Identity);
}

TEST_F(Conversation, NegotiatesDownWithALaterAgent) {
  ASSERT_FALSE(take(hello_message("gpu-1", 1, 7)));
  EXPECT_EQ(answers().at(0).welcome().version(), 1u);
}

TEST_F(Conversation, RefusesAnAgentThatSpeaksNoCommonVersionAndSaysWhatItSpeaks) {
  const std::optional<Refused> refused = take(hello_message("gpu-1", 2, 3));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Version);
  EXPECT_EQ(answers().at(0).refusal().code(), v1::Refusal::VERSION);
  EXPECT_NE(answers().at(0).refusal().reason().find("this aggregator 1 to 1"), std::string::npos);
}

TEST_F(Conversation, RefusesAHelloWithoutVersions) {
  const std::optional<Refused> refused = take(hello_message("gpu-1", 0, 0));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Version);
}

TEST_F(Conversation, RefusesWhatIsOutOfOrder) {
  EXPECT_EQ(take(snapshot_message(healthy_snapshot("gpu-1"), 1))->reason, RefusedReason::Protocol);
  greet();
  EXPECT_EQ(take(heartbeat_message(1))->reason, RefusedReason::Protocol) << "no snapshot was ever taken";
  EXPECT_EQ(take(hello_message("gpu-1"))->reason, RefusedReason::Protocol);
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 5)));
  EXPECT_EQ(take(heartbeat_message(5))->reason, RefusedReason::Protocol);
}

TEST_F(Conversation, RefusesGarbage) {
  greet();
  const std::optional<Refused> refused = take("\xff\xff\xff garbage");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Protocol);
  EXPECT_EQ(refused->node, "gpu-1");
}

TEST_F(Conversation, RefusesANameThatIsNoNodeName) {
  const std::optional<Refused> refused = take(hello_message("../gpu\n1"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, RefusedReason::Protocol);
  EXPECT_EQ(refused->node.find('\n'), std::string::npos);
}

TEST_F(Conversation, AMessageOfALaterVersionSaysNothingButThatTheAgentLives) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  const std::string later("\xa2\x06\x03xyz", 6);  // AgentMessage's field 100
  ASSERT_FALSE(take(later, kNow + std::chrono::seconds(3)));
  EXPECT_TRUE(answers().empty());
  EXPECT_EQ(rig.fleet.find("gpu-1")->last_heard, kNow + std::chrono::seconds(3));
}

TEST_F(Conversation, FieldsOfALaterVersionAreStoredAsTheyCame) {
  greet();
  v1::AgentMessage message;
  ASSERT_TRUE(message.ParseFromString(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  const std::string extra("\xa2\x06\x05later", 8);  // Snapshot's field 100
  std::string wire = message.snapshot().SerializeAsString() + extra;
  ASSERT_TRUE(message.mutable_snapshot()->ParseFromString(wire));
  ASSERT_FALSE(take(message.SerializeAsString()));
  rig.writer.flush(kNow);
  EXPECT_TRUE(rig.store.for_each_node([](const std::string&, const StoredNode& node) {
    EXPECT_NE(node.snapshot_wire->find("later"), std::string::npos);
  }));
}

TEST_F(Conversation, HeartbeatsKeepTheNodeHeard) {
  greet();
  ASSERT_FALSE(take(snapshot_message(healthy_snapshot("gpu-1"), 1)));
  ASSERT_FALSE(take(heartbeat_message(2), kNow + std::chrono::seconds(30)));
  EXPECT_EQ(answers().at(0).ack().sequence(), 2u);
  EXPECT_EQ(counts.heartbeats, 1u);
  EXPECT_EQ(rig.fleet.find("gpu-1")->last_heard, kNow + std::chrono::seconds(30));
}

TEST(CertificateNames, CompareWithoutRegardToAsciiCase) {
  EXPECT_TRUE(names_node({"other", "GPU-1.Example"}, "gpu-1.example"));
  EXPECT_FALSE(names_node({"gpu-1.example"}, "gpu-1"));
  EXPECT_FALSE(names_node({"*.example"}, "gpu-1.example"));
  EXPECT_FALSE(names_node({}, ""));
}

}  // namespace
}  // namespace gpuskew
