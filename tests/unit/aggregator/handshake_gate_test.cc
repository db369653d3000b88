#include "aggregator/handshake_gate.h"

#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

namespace gpuskew {
namespace {

class Gate : public testing::Test {
 protected:
  asio::awaitable<void> keep_place(std::string name) {
    HandshakeGate::Place place = co_await gate.enter();
    entered.push_back(name);
    places.push_back(std::move(place));
  }

  void come(const std::string& name) {
    asio::co_spawn(io, keep_place(name), [](const std::exception_ptr& thrown) { EXPECT_FALSE(thrown); });
  }

  asio::io_context io{1};
  HandshakeGate gate{2, std::chrono::hours(1)};
  std::vector<std::string> entered;
  std::vector<HandshakeGate::Place> places;
};

TEST_F(Gate, LetsOnlyAFewInAndTheOthersInTheOrderTheyCame) {
  for (const char* name : {"a", "b", "c", "d"}) {
    come(name);
  }
  io.poll();
  EXPECT_EQ(entered, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(gate.running(), 2u);
  EXPECT_EQ(gate.waiting(), 2u);
  places.erase(places.begin());
  io.poll();
  EXPECT_EQ(entered, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_FALSE(places[0].has_waited());
  EXPECT_TRUE(places[1].has_waited());
  places.clear();
  io.poll();
  EXPECT_EQ(entered.back(), "d");
  places.clear();
  EXPECT_EQ(gate.running(), 0u);
}

TEST_F(Gate, APlaceThatIsHeldTooLongIsPassedOnOnce) {
  gate = HandshakeGate(1, std::chrono::milliseconds(1));
  come("staller");
  come("next");
  io.run();
  EXPECT_EQ(entered, (std::vector<std::string>{"staller", "next"}));
  places.clear();
  EXPECT_EQ(gate.running(), 0u);
}

TEST_F(Gate, WhoeverIsCancelledWhileWaitingIsPassedOver) {
  come("a");
  come("b");
  asio::cancellation_signal cancel;
  asio::co_spawn(io, keep_place("cancelled"),
                 asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
  come("d");
  io.poll();
  cancel.emit(asio::cancellation_type::terminal);
  io.poll();
  entered.clear();
  places.clear();
  io.poll();
  EXPECT_EQ(entered, (std::vector<std::string>{"d"}));
}

TEST_F(Gate, MoveAssignGivesThePlaceBackThatItHeld) {
  come("a");
  come("b");
  come("c");
  io.poll();
  places[0] = std::move(places[1]);
  io.poll();
  EXPECT_EQ(entered.back(), "c");
}

TEST_F(Gate, APlaceMayOutliveItsGate) {
  come("a");
  io.poll();
  gate = HandshakeGate();
  places.clear();
  EXPECT_EQ(gate.running(), 0u);
}

TEST(HasHungUp, TellsAPeerThatClosedFromOneThatWaits) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  EXPECT_FALSE(has_hung_up(pair[0]));
  ASSERT_EQ(::send(pair[1], "hello", 5, 0), 5);
  EXPECT_FALSE(has_hung_up(pair[0]));
  ::close(pair[1]);
  EXPECT_TRUE(has_hung_up(pair[0])) << "also with bytes that nobody read";
  ::close(pair[0]);
}

}  // namespace
}  // namespace gpuskew
