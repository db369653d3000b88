#include "aggregator/snapshot_outline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

std::optional<FieldMarks> marks_of(const std::string& frame) {
  FieldMarks marks;
  return outline_snapshot(frame, marks) ? std::optional(marks) : std::nullopt;
}

/// The fields in which `now` differs from `before`; nullopt when it has to be read whole.
std::optional<v1::Snapshot> changed_fields(const std::string& before, const std::string& now) {
  FieldMarks marks;
  const std::optional<SnapshotOutline> outline = outline_snapshot(now, marks);
  std::string bytes;
  if (!outline || !take_changed_fields(*outline, marks, marks_of(before).value(), bytes)) {
    return std::nullopt;
  }
  v1::Snapshot changed;
  EXPECT_TRUE(changed.ParseFromString(bytes));
  return changed;
}

TEST(SnapshotOutline, ReadsTheSequenceAndTheSnapshotsBytes) {
  FieldMarks marks;
  const std::string frame = snapshot_message(healthy_snapshot("gpu-1"), 300);
  const std::optional<SnapshotOutline> outline = outline_snapshot(frame, marks);
  ASSERT_TRUE(outline);
  EXPECT_EQ(outline->sequence, 300u);
  v1::Snapshot snapshot;
  ASSERT_TRUE(snapshot.ParseFromArray(outline->wire.data(), static_cast<int>(outline->wire.size())));
  EXPECT_EQ(snapshot.node(), "gpu-1");
}

TEST(SnapshotOutline, MarksDoNotDependOnSequenceAndTime) {
  Snapshot later = healthy_snapshot("gpu-1");
  later.taken_at += std::chrono::hours(5);
  EXPECT_EQ(marks_of(snapshot_message(healthy_snapshot("gpu-1"), 1)), marks_of(snapshot_message(later, 70'000)));
}

TEST(SnapshotOutline, MarksDifferWhenAnyFactDoes) {
  Snapshot other = healthy_snapshot("gpu-1");
  other.agent_version = "0.1.1";
  EXPECT_NE(marks_of(snapshot_message(healthy_snapshot("gpu-1"), 1)), marks_of(snapshot_message(other, 1)));
}

TEST(SnapshotOutline, OnlyTheFieldsThatDifferAndTheTimeAreTaken) {
  const Snapshot before = healthy_snapshot("gpu-1");
  Snapshot now = before;
  now.taken_at += std::chrono::seconds(15);
  now.architecture = Fact<std::string>::known("aarch64", "/sbin/init");
  const auto changed = changed_fields(snapshot_message(before, 1), snapshot_message(now, 2));
  ASSERT_TRUE(changed);
  v1::Snapshot expected;
  expected.set_taken_unix_ms(to_unix_ms(now.taken_at));
  expected.mutable_architecture()->set_source("/sbin/init");
  expected.mutable_architecture()->set_known("aarch64");
  EXPECT_EQ(changed->SerializeAsString(), expected.SerializeAsString());
}

TEST(SnapshotOutline, AReportWithOtherFieldsOrOfAnotherNodeIsReadWhole) {
  Snapshot before = healthy_snapshot("gpu-1");
  before.remembered.reset();
  const std::string frame = snapshot_message(before, 1);
  Snapshot more = before;
  more.expected_gpus = 8;
  EXPECT_FALSE(changed_fields(frame, snapshot_message(more, 2)));
  EXPECT_FALSE(changed_fields(snapshot_message(more, 1), snapshot_message(before, 2)));
  Snapshot other = before;
  other.agent_version.clear();
  other.expected_gpus = 8;
  EXPECT_FALSE(changed_fields(frame, snapshot_message(other, 2))) << "as many fields, but others";
  EXPECT_FALSE(changed_fields(frame, snapshot_message(healthy_snapshot("gpu-2"), 2)));
}

/// A frame with this snapshot's bytes.
std::string frame_of(const std::string& wire) {
  std::string frame = "\x12";
  for (std::size_t size = wire.size();; size >>= 7) {
    frame += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
    if (size <= 0x7f) {
      return frame + wire;
    }
  }
}

TEST(SnapshotOutline, AFieldThatIsThereTwiceIsReadWhole) {
  // Protobuf merges the second into the first, so neither alone says what is meant.
  const std::string wire = snapshot_wire(healthy_snapshot("gpu-1"));
  const std::string again("\x3a\x02\x12\x00", 4);  // the kernel, known and empty
  ASSERT_TRUE(marks_of(frame_of(wire + again)));
  EXPECT_FALSE(changed_fields(frame_of(wire + again), frame_of(wire + again + "\x30\x01")));
  EXPECT_FALSE(changed_fields(frame_of(wire + again), frame_of(snapshot_wire(bumped_snapshot("gpu-1")) + again)));
}

TEST(SnapshotOutline, AMessageOfTooManyFieldsIsLeftToTheParser) {
  std::string wire = snapshot_wire(healthy_snapshot("gpu-1"));
  for (std::size_t at = 0; at < kMaxFields; ++at) {
    wire += std::string("\xa0\x06\x01", 3);  // field 100
  }
  EXPECT_FALSE(marks_of(frame_of(wire)));
}

TEST(SnapshotOutline, AFieldIsFoundByItsNumber) {
  FieldMarks marks;
  ASSERT_TRUE(outline_of_snapshot(snapshot_wire(healthy_snapshot("gpu-1")), marks));
  const auto kernel = hash_of_field(marks, v1::Snapshot::kKernelFieldNumber);
  ASSERT_TRUE(kernel);
  EXPECT_NE(kernel, hash_of_field(marks, v1::Snapshot::kOsFieldNumber));
  EXPECT_EQ(kernel,
            hash_of_field(*marks_of(snapshot_message(healthy_snapshot("gpu-2"), 9)), v1::Snapshot::kKernelFieldNumber));
  EXPECT_EQ(hash_of_field(marks, 1000), std::nullopt);
  EXPECT_EQ(hash_of_field({}, v1::Snapshot::kKernelFieldNumber), std::nullopt);
}

TEST(SnapshotOutline, OtherMessagesAreLeftToTheParser) {
  EXPECT_FALSE(marks_of(hello_message("gpu-1")));
  EXPECT_FALSE(marks_of(heartbeat_message(1)));
  EXPECT_FALSE(marks_of(""));
  EXPECT_FALSE(marks_of(snapshot_message(healthy_snapshot("gpu-1"), 1) + heartbeat_message(2)));
}

RC_GTEST_PROP(SnapshotOutline, MarksFieldsOfLaterVersions, (const std::string& extra)) {
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
  const std::optional<FieldMarks> marks = marks_of(message.SerializeAsString());
  RC_ASSERT(marks.has_value());
  RC_ASSERT(marks != marks_of(frame));
}

RC_GTEST_PROP(SnapshotOutline, NeverReadsPastAnyBytes, (const std::string& bytes)) {
  FieldMarks marks;
  std::string frame = "\x12" + bytes;
  if (bytes.size() < 128) {
    frame.insert(1, 1, static_cast<char>(bytes.size()));
  }
  std::string changed;
  if (const std::optional<SnapshotOutline> outline = outline_snapshot(frame, marks)) {
    RC_ASSERT(marks.size() <= frame.size());
    RC_ASSERT(outline->wire.size() <= frame.size());
    if (take_changed_fields(*outline, marks, FieldMarks(marks.size()), changed)) {
      RC_ASSERT(changed.size() <= frame.size());
    }
  }
}

}  // namespace
}  // namespace gpuskew
