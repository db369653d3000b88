#include "aggregator/housekeeping.h"

#include <gtest/gtest.h>

#include "runtime/systemd.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kCsv = "driver_branch,kernel,os_tag\n550,5.15.0-999-generic,ubuntu22.04\n";

struct HousekeepingRig : Rig {
  MatrixFile matrix{std::nullopt};
  ServiceManager manager = ServiceManager::from_environment().value();
  Housekeeping housekeeping{recorder, store, writer, matrix, manager, captured.log(), hours(24)};
};

TEST(Housekeeping, JudgesWhatTimeAloneChanges) {
  HousekeepingRig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.housekeeping.pulse(kNow + seconds(10));
  EXPECT_EQ(rig.captured.count("agent-silent"), 0u);
  rig.housekeeping.pulse(kNow + minutes(5));
  EXPECT_EQ(rig.captured.count("finding opened code=agent-silent"), 1u);
  EXPECT_FALSE(rig.writer.has_pending());
}

TEST(Housekeeping, TakesAMatrixThatChangedAndJudgesByIt) {
  HousekeepingRig rig;
  rig.report(healthy_snapshot("gpu-1"));
  const std::filesystem::path file = rig.directory.path() / "matrix.csv";
  rig.matrix.set_path(file);
  rig.matrix.reload();
  rig.housekeeping.use_matrix(kNow);
  EXPECT_EQ(rig.captured.count("matrix can not be read"), 1u);
  rig.directory.write("matrix.csv", kCsv);
  rig.housekeeping.pulse(kNow + seconds(2));
  rig.housekeeping.pulse(kNow + seconds(4));
  EXPECT_EQ(rig.captured.count("matrix read"), 1u);
  EXPECT_EQ(rig.captured.count("finding opened code=image-missing"), 1u);
}

TEST(Housekeeping, DeletesOldHistoryABatchAPulse) {
  HousekeepingRig rig;
  std::vector<Transition> old(static_cast<std::size_t>(HistoryStore::kPruneRows) + 5,
                              Transition{"gpu-1", kNow - hours(48), TransitionKind::Boot, "a", "b", ""});
  rig.writer.add(old);
  rig.writer.flush(kNow);
  rig.housekeeping.pulse(kNow);
  EXPECT_EQ(rig.store.history("gpu-1", 10'000).value().size(), 5u);
  rig.housekeeping.pulse(kNow + seconds(1));
  EXPECT_TRUE(rig.store.history("gpu-1", 10'000).value().empty());
}

TEST(Housekeeping, StatusLineCountsNodesAndCriticalFindings) {
  HousekeepingRig rig;
  EXPECT_EQ(rig.housekeeping.status_line(), "0 nodes, 0 critical");
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(bumped_snapshot("gpu-1"), kNow + minutes(1));
  EXPECT_EQ(rig.housekeeping.status_line(), "1 node, 1 critical");
}

}  // namespace
}  // namespace gpuskew
