#include "core/leader.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using namespace std::chrono_literals;

/// A Lease as the server keeps it, and two replicas whose clocks began at different moments.
struct Server {
  std::optional<LeaseRecord> lease;
  int version = 0;

  // Carries out what a replica decided, as long as nobody wrote in between.
  bool write(const LeaderElection& replica, LeaseStep step, const std::optional<LeaseRecord>& seen) {
    if (step == LeaseStep::Wait || (lease ? lease->version : "") != (seen ? seen->version : "")) {
      return false;
    }
    const bool changes = step != LeaseStep::Renew && lease;
    lease = LeaseRecord{replica.identity(), replica.times().promise, (lease ? lease->changes : 0) + (changes ? 1 : 0),
                        std::to_string(++version)};
    return true;
  }
};

LeaseStep turn(LeaderElection& replica, Server& server, Duration moment) {
  const auto seen = server.lease;
  const LeaseStep step = replica.look(seen, moment);
  if (server.write(replica, step, seen)) {
    replica.wrote(moment);
  }
  return step;
}

TEST(LeaderElection, TheFirstMakesTheLeaseAndTheSecondWaits) {
  Server server;
  LeaderElection a("a", {});
  LeaderElection b("b", {});
  EXPECT_EQ(turn(a, server, 0s), LeaseStep::Create);
  EXPECT_TRUE(a.leads(1s));
  EXPECT_EQ(turn(b, server, 1000s), LeaseStep::Wait);
  EXPECT_FALSE(b.leads(1000s));
}

TEST(LeaderElection, AKilledLeaderIsFollowedWithinFifteenSeconds) {
  Server server;
  const LeaderTimes times;
  LeaderElection a("a", times);
  LeaderElection b("b", times);
  turn(a, server, 0s);
  Duration moment = 0s;
  while (!b.leads(moment)) {
    moment += times.retry;
    turn(b, server, moment);
    ASSERT_LE(moment, 15s);
  }
  EXPECT_EQ(server.lease->changes, 1);
}

TEST(LeaderElection, NoTwoLeadAtOnceHoweverLateOneRenews) {
  const LeaderTimes times;
  for (Duration pause = 1s; pause < 20s; pause += 250ms) {
    Server server;
    LeaderElection a("a", times);
    LeaderElection b("b", times);
    turn(a, server, 0s);
    turn(b, server, 0s);
    for (Duration moment = 0s; moment < 60s; moment += 250ms) {
      if (moment.count() % pause.count() == 0) {
        turn(a, server, moment);
      }
      if (moment.count() % times.retry.count() == 0) {
        turn(b, server, moment);
      }
      ASSERT_FALSE(a.leads(moment) && b.leads(moment)) << pause.count() << " " << moment.count();
    }
  }
}

TEST(LeaderElection, AHolderThatRenewsIsNeverTakenFrom) {
  Server server;
  LeaderElection a("a", {});
  LeaderElection b("b", {});
  for (Duration moment = 0s; moment < 100s; moment += 1500ms) {
    turn(a, server, moment);
    EXPECT_EQ(turn(b, server, moment), LeaseStep::Wait);
  }
}

TEST(LeaderElection, ALongerPromiseOfAStrangerIsWaitedFor) {
  LeaderElection b("b", {});
  const LeaseRecord lease{"stranger", 30s, 0, "7"};
  EXPECT_EQ(b.look(lease, 0s), LeaseStep::Wait);
  EXPECT_EQ(b.look(lease, 29s), LeaseStep::Wait);
  EXPECT_EQ(b.look(lease, 30s), LeaseStep::Take);
}

TEST(LeaderElection, ALeaseThatWasGivenBackIsTakenAtOnce) {
  LeaderElection b("b", {});
  EXPECT_EQ(b.look(LeaseRecord{"", 1s, 3, "9"}, 0s), LeaseStep::Take);
}

TEST(LeaderElection, ALeaderWhoseLeaseWasTakenStopsAtOnce) {
  LeaderElection a("a", {});
  EXPECT_EQ(a.look(std::nullopt, 0s), LeaseStep::Create);
  a.wrote(0s);
  EXPECT_EQ(a.leads_for(1s), 4s);
  EXPECT_EQ(a.look(LeaseRecord{"b", 8s, 1, "2"}, 1s), LeaseStep::Wait);
  EXPECT_FALSE(a.leads(1s));
  EXPECT_EQ(a.leads_for(1s), 0s);
}

}  // namespace
}  // namespace gpuskew
