#include "aggregator/history_writer.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

using std::chrono::seconds;

/// Another program that holds the database's write lock, as a backup may.
class OtherWriter {
 public:
  explicit OtherWriter(const std::filesystem::path& path)
      : database_(Database::open(path, Database::Mode::OpenExisting).value()),
        transaction_(Transaction::begin(database_).value()) {}

 private:
  Database database_;
  Transaction transaction_;
};

TEST(HistoryWriter, WritesEverythingOfATurnAtOnce) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  EXPECT_FALSE(rig.writer.has_pending());
  EXPECT_FALSE(rig.store.history("gpu-1", 10).value().empty());
}

TEST(HistoryWriter, KeepsWhatItCanNotWriteAndWritesItLater) {
  Rig rig;
  {
    OtherWriter other(rig.database());
    rig.report(healthy_snapshot("gpu-1"));
    EXPECT_TRUE(rig.writer.has_pending());
    ASSERT_TRUE(rig.writer.health().error);
    EXPECT_EQ(rig.writer.health().errors, 1u);
    EXPECT_EQ(rig.captured.count("history database can not be written"), 1u);
    EXPECT_NE(rig.fleet.find("gpu-1"), nullptr) << "the fleet in memory goes on";
  }
  rig.writer.flush(kNow + HistoryWriter::kRetryEvery);
  EXPECT_FALSE(rig.writer.health().error);
  EXPECT_FALSE(rig.store.history("gpu-1", 10).value().empty());
  EXPECT_EQ(rig.captured.count("history database works again"), 1u);
}

TEST(HistoryWriter, DoesNotTryAgainAtOnceNorLogEachFailure) {
  Rig rig;
  OtherWriter other(rig.database());
  rig.report(healthy_snapshot("gpu-1"), kNow);
  rig.report(bumped_snapshot("gpu-1"), kNow + std::chrono::milliseconds(1));
  EXPECT_EQ(rig.writer.health().errors, 1u);
  rig.writer.flush(kNow + HistoryWriter::kRetryEvery);
  EXPECT_EQ(rig.writer.health().errors, 2u);
  EXPECT_EQ(rig.captured.count("can not be written"), 1u);
}

TEST(HistoryWriter, DropsTheOldestTransitionsWhenItFailsForTooLong) {
  Rig rig;
  std::vector<Transition> many(HistoryWriter::kMaxPendingTransitions + 3,
                               Transition{"gpu-1", kNow, TransitionKind::Boot, "a", "b", ""});
  many.back().to = "newest";
  rig.writer.add(many);
  EXPECT_EQ(rig.writer.health().dropped_transitions, 3u);
  EXPECT_EQ(rig.captured.count("history is being lost"), 1u);
  rig.writer.flush(kNow);
  EXPECT_EQ(rig.store.history("gpu-1", 1).value().at(0).to, "newest");
}

TEST(HistoryWriter, WritesHeartbeatsInRounds) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.writer.pulse(rig.fleet, kNow);
  rig.recorder.heard_from("gpu-1", kNow + seconds(5));
  const auto stored_last_heard = [&rig] {
    Time heard{};
    EXPECT_TRUE(
        rig.store.for_each_node([&heard](const std::string&, const StoredNode& node) { heard = node.last_heard; }));
    return heard;
  };
  rig.writer.pulse(rig.fleet, kNow + seconds(6));
  EXPECT_EQ(stored_last_heard(), kNow) << "its round is not due yet";
  rig.writer.pulse(rig.fleet, kNow + HistoryWriter::kHeardEvery);
  EXPECT_EQ(stored_last_heard(), kNow + seconds(5));
}

TEST(HistoryWriter, FlushAllLeavesNothingBehind) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.writer.pulse(rig.fleet, kNow);
  rig.recorder.heard_from("gpu-1", kNow + seconds(5));
  rig.writer.flush_all(rig.fleet, kNow + seconds(6));
  EXPECT_TRUE(rig.store.for_each_node(
      [](const std::string&, const StoredNode& node) { EXPECT_EQ(node.last_heard, kNow + seconds(5)); }));
}

TEST(HistoryWriter, ALaterWriteWithoutASnapshotKeepsThePendingOne) {
  Rig rig;
  StoredNode first;
  first.snapshot_wire = "wire";
  rig.writer.put("gpu-1", first);
  StoredNode second;
  second.first_seen = kNow;
  rig.writer.put("gpu-1", second);
  rig.writer.flush(kNow);
  std::size_t nodes = 0;
  EXPECT_TRUE(rig.store.for_each_node([&nodes](const std::string&, const StoredNode& node) {
    ++nodes;
    EXPECT_EQ(node.snapshot_wire, "wire");
    EXPECT_EQ(node.first_seen, kNow);
  }));
  EXPECT_EQ(nodes, 1u);
}

}  // namespace
}  // namespace gpuskew
