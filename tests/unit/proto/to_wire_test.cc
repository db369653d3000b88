#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "tests/unit/proto/any_snapshot.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

// What two spellings of one version hide from ==, the wire form shows.
std::string wire_bytes(const Snapshot& snapshot) {
  v1::Snapshot wire;
  to_wire(snapshot, wire);
  return wire.SerializeAsString();
}

Result<Snapshot> parsed(const std::string& bytes) {
  v1::Snapshot wire;
  if (!wire.ParseFromString(bytes)) {
    return fail(ErrorCode::Malformed, "protobuf refuses it");
  }
  return from_wire(wire);
}

RC_GTEST_PROP(ToWire, EverySnapshotComesBackAsItWas, ()) {
  const Snapshot before = any_snapshot();
  const std::string bytes = wire_bytes(before);
  const Result<Snapshot> after = parsed(bytes);
  RC_ASSERT(after.has_value());
  RC_ASSERT(after->same_facts(before));
  RC_ASSERT(after->taken_at == before.taken_at);
  RC_ASSERT(wire_bytes(*after) == bytes);
}

// The messages before must leave nothing behind.
RC_GTEST_PROP(ToWire, AMessageWrittenAgainEqualsANewOne, ()) {
  v1::Snapshot reused;
  for (int round = 0; round < 3; ++round) {
    const Snapshot snapshot = any_snapshot();
    to_wire(snapshot, reused);
    RC_ASSERT(reused.SerializeAsString() == wire_bytes(snapshot));
  }
}

RC_GTEST_PROP(ToWire, EveryLastGoodStateComesBackAsItWas, ()) {
  const LastGood before = any_last_good();
  const Result<LastGood> after = decode_last_good(encode(before));
  RC_ASSERT(after.has_value());
  RC_ASSERT(*after == before);
  RC_ASSERT(encode(*after) == encode(before));
}

TEST(ToWire, LeavesTheSequenceNumberAlone) {
  v1::Snapshot wire;
  wire.set_sequence(7);
  to_wire(sample_snapshot(), wire);
  EXPECT_EQ(wire.sequence(), 7u);
}

TEST(ToWire, WritesUnitsAsTheProtocolDocumentsThem) {
  v1::Snapshot wire;
  to_wire(sample_snapshot(), wire);
  EXPECT_EQ(wire.taken_unix_ms(), 1'780'000'000'123);
  EXPECT_EQ(wire.boot_time().known_unix_ms(), 1'779'000'000'000);
  EXPECT_EQ(wire.gpus().known().items(0).device_id(), 0x20b5u);
  EXPECT_EQ(wire.loaded_flavour().known(), "open");
  EXPECT_EQ(wire.loaded_driver().known(), "550.90.07");
}

TEST(ToWire, ReplacesBytesThatAreNotUtf8SoThatThePeerTakesTheMessage) {
  Snapshot snapshot = sample_snapshot();
  OsIdentity os = *snapshot.os;
  os.pretty_name = "Caf\xE9 Linux";
  snapshot.os = Fact<OsIdentity>::known(os, "/etc/os-release\xFF");
  snapshot.gpus = Fact<std::vector<Gpu>>::unknown(Error{ErrorCode::Denied, "reading \xC0\x80"}, "/sys");
  const Result<Snapshot> after = parsed(wire_bytes(snapshot));
  ASSERT_TRUE(after.has_value()) << after.error().what;
  EXPECT_EQ(after->os->pretty_name, "Caf? Linux");
  EXPECT_EQ(after->os.source(), "/etc/os-release?");
  EXPECT_EQ(after->gpus.why().what, "reading ??");
}

TEST(ToWire, AFactNobodyReadArrivesAsUnknown) {
  Snapshot snapshot;
  snapshot.node = "a";
  const Result<Snapshot> after = parsed(wire_bytes(snapshot));
  ASSERT_TRUE(after.has_value()) << after.error().what;
  EXPECT_TRUE(after->loaded_driver.is_unknown());
  EXPECT_TRUE(after->gpus.is_unknown());
  EXPECT_EQ(after->gpus.why().what, "not reported");
}

}  // namespace
}  // namespace gpuskew
