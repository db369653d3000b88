#include "aggregator/history_restore.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

TEST(RestoreFleet, ProvesAKernelBumpAcrossARestart) {
  Rig before;
  before.report(healthy_snapshot("gpu-1"));
  Rig after;
  const Result<std::size_t> restored = restore_fleet(before.store, after.fleet, after.captured.log(), {}, kNow);
  ASSERT_TRUE(restored);
  EXPECT_EQ(*restored, 1u);
  after.recorder.tick(kNow);
  EXPECT_EQ(after.fleet.find("gpu-1")->verdict.state, NodeState::Ok);
  after.report(bumped_snapshot("gpu-1"), kNow + minutes(1));
  const Verdict& verdict = after.fleet.find("gpu-1")->verdict;
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].code, FindingCode::GpuGoneAfterKernelBump);
}

TEST(RestoreFleet, AnOpenFindingKeepsItsTimeAndIsNotOpenedAgain) {
  Rig before;
  before.report(healthy_snapshot("gpu-1"));
  before.report(bumped_snapshot("gpu-1"), kNow + minutes(1));
  const Time since = before.fleet.find("gpu-1")->verdict.findings.at(0).since;
  Rig after;
  ASSERT_TRUE(restore_fleet(before.store, after.fleet, after.captured.log(), {}, kNow + hours(1)));
  after.recorder.tick(kNow + hours(1));
  EXPECT_EQ(after.fleet.find("gpu-1")->verdict.findings.at(0).since, since);
  EXPECT_EQ(after.captured.count("finding opened"), 0u);
}

TEST(RestoreFleet, ForgetsNodesSilentForLongerThanTheRetention) {
  Rig before;
  before.report(healthy_snapshot("old"), kNow - hours(1000));
  before.report(healthy_snapshot("new"), kNow);
  Rig after;
  EXPECT_EQ(restore_fleet(before.store, after.fleet, after.captured.log(), kNow - hours(100), kNow).value(), 1u);
  EXPECT_EQ(after.fleet.find("old"), nullptr);
  EXPECT_EQ(after.captured.count("nodes forgotten"), 1u);
}

TEST(RestoreFleet, AReportThatDoesNotReadIsLoggedAndItsNodeStays) {
  Rig before;
  ASSERT_TRUE(before.recorder.report(healthy_snapshot("gpu-1"), "\xff not a snapshot", kNow));
  before.writer.flush(kNow);
  Rig after;
  EXPECT_EQ(restore_fleet(before.store, after.fleet, after.captured.log(), {}, kNow).value(), 1u);
  EXPECT_TRUE(after.fleet.find("gpu-1")->snapshot.kernel.is_unknown());
  EXPECT_TRUE(after.fleet.find("gpu-1")->history.last_good);
  EXPECT_EQ(after.captured.count("stored report does not read"), 1u);
}

// What an aggregator of the version before the next boot's facts wrote: fields 1 to 17.
std::string wire_of_an_older_version(const Snapshot& snapshot) {
  constexpr int kLastOldField = 17;
  const std::string whole = snapshot_wire(snapshot);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(whole.data()),  // NOLINT
                                            static_cast<int>(whole.size()));
  std::string old;
  for (int start = in.CurrentPosition(); const std::uint32_t tag = in.ReadTag(); start = in.CurrentPosition()) {
    EXPECT_TRUE(google::protobuf::internal::WireFormatLite::SkipField(&in, tag));
    if (google::protobuf::internal::WireFormatLite::GetTagFieldNumber(tag) <= kLastOldField) {
      old += whole.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(in.CurrentPosition() - start));
    }
  }
  EXPECT_LT(old.size(), whole.size());
  return old;
}

TEST(RestoreFleet, ReportsOfAnOlderVersionComeBackWithTheNewFactsUnknown) {
  Rig before;
  const Snapshot snapshot = healthy_snapshot("gpu-1");
  ASSERT_TRUE(before.recorder.report(snapshot, wire_of_an_older_version(snapshot), kNow));
  before.writer.flush(kNow);
  Rig after;
  EXPECT_EQ(restore_fleet(before.store, after.fleet, after.captured.log(), {}, kNow).value(), 1u);
  const Snapshot& restored = after.fleet.find("gpu-1")->snapshot;
  EXPECT_EQ(restored.loaded_driver, snapshot.loaded_driver);
  EXPECT_EQ(restored.gpus, snapshot.gpus);
  EXPECT_TRUE(restored.kernel_log.is_unknown());
  EXPECT_EQ(restored.next_kernel.why().what, "not reported by this agent");
  EXPECT_EQ(after.captured.count("stored report does not read"), 0u);
}

TEST(RestoreFleet, FiveThousandNodesComeBack) {
  Rig before;
  for (int i = 0; i < 5000; ++i) {
    const Snapshot snapshot = healthy_snapshot("gpu-" + std::to_string(i));
    ASSERT_TRUE(before.recorder.report(snapshot, snapshot_wire(snapshot), kNow));
  }
  before.writer.flush(kNow);
  Rig after;
  EXPECT_EQ(restore_fleet(before.store, after.fleet, after.captured.log(), {}, kNow).value(), 5000u);
  EXPECT_EQ(&after.fleet.find("gpu-7")->snapshot.os.value(), &after.fleet.find("gpu-4999")->snapshot.os.value())
      << "what is the same on all nodes is kept once";
}

}  // namespace
}  // namespace gpuskew
