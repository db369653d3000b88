#include "aggregator/fleet_recorder.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

using std::chrono::minutes;

TEST(FleetRecorder, LogsAFindingWhenItOpensAndWhenItIsResolved) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(bumped_snapshot("gpu-1"), kNow + minutes(1));
  EXPECT_EQ(rig.captured.count("finding opened code=gpu-gone-after-kernel-bump node=gpu-1 severity=critical cause="),
            1u)
      << rig.captured.text();
  rig.report(healthy_snapshot("gpu-1"), kNow + minutes(2));
  EXPECT_EQ(rig.captured.count("finding resolved code=gpu-gone-after-kernel-bump node=gpu-1"), 1u);
}

TEST(FleetRecorder, StoresTheTransitionsOfAReport) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(bumped_snapshot("gpu-1"), kNow + minutes(1));
  std::set<std::string_view> kinds;
  const std::vector<Transition> history = rig.store.history("gpu-1", 100).value();
  for (const Transition& transition : history) {
    kinds.insert(to_string(transition.kind));
  }
  for (const char* kind : {"node-seen", "boot", "kernel", "driver", "state", "finding-opened"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

TEST(FleetRecorder, SilenceIsRecordedByTimeAlone) {
  Rig rig;
  rig.report(healthy_snapshot("gpu-1"));
  rig.recorder.tick(kNow + minutes(5));
  rig.writer.flush(kNow + minutes(5));
  EXPECT_EQ(rig.captured.count("finding opened code=agent-silent"), 1u);
  EXPECT_EQ(rig.store.history("gpu-1", 1).value().size(), 1u);
}

}  // namespace
}  // namespace gpuskew
