#include "aggregator/commit_turn.h"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

class CommitTurnTest : public testing::Test {
 protected:
  /// Reports and waits for the commit, as a connection does.
  asio::awaitable<void> report(std::string node) {
    const Snapshot snapshot = healthy_snapshot(node);
    const std::string wire = snapshot_wire(snapshot);
    EXPECT_TRUE(rig.recorder.report(snapshot, wire, kNow));
    ++reported;
    co_await commits.committed();
    EXPECT_EQ(reported, 3) << "all that was reported in one turn is committed together";
    ++committed;
  }

  void spawn(const std::string& node) {
    asio::co_spawn(io, report(node), [](const std::exception_ptr& thrown) { EXPECT_FALSE(thrown); });
  }

  Rig rig;
  asio::io_context io{1};
  CommitTurn commits{io, rig.writer};
  int reported = 0;
  int committed = 0;
};

TEST_F(CommitTurnTest, OneCommitServesEverybodyOfATurn) {
  spawn("gpu-1");
  spawn("gpu-2");
  spawn("gpu-3");
  io.run();
  EXPECT_EQ(committed, 3);
  EXPECT_FALSE(rig.writer.has_pending());
}

TEST_F(CommitTurnTest, EndsWhenTheStoreFailsToo) {
  Database other = Database::open(rig.database(), Database::Mode::OpenExisting).value();
  const Result<Transaction> lock = Transaction::begin(other);
  ASSERT_TRUE(lock);
  spawn("gpu-1");
  spawn("gpu-2");
  spawn("gpu-3");
  io.run();
  EXPECT_EQ(committed, 3);
  EXPECT_TRUE(rig.writer.has_pending());
}

TEST_F(CommitTurnTest, DoesNotWaitWhenNothingIsPending) {
  bool ended = false;
  asio::co_spawn(io, commits.committed(), [&ended](const std::exception_ptr&) { ended = true; });
  io.run();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace gpuskew
