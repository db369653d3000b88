#include "agent/streams.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/agent/stream_fixture.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
using Peer = std::shared_ptr<ImposterPeer>;

/// Two addresses of this host, and a name that stands for what the test says.
class StreamsTest : public StreamFixture {
 protected:
  struct Replica {
    std::optional<AggregatorImposter> listener;
    std::size_t snapshots = 0;
    Peer peer;
  };

  // Both on the port that the first was given.
  Replica& replica(const char* host, std::string instance) {
    Replica& made = replicas_[host];
    made.listener.emplace(
        io_, server_files_, [&made, instance](Peer peer) { return serve_agent(std::move(peer), made, instance); },
        port_, host);
    port_ = made.listener->port();
    return made;
  }

  static asio::awaitable<void> serve_agent(Peer peer, Replica& replica, std::string instance) {
    replica.peer = peer;
    co_await peer->welcome(1, std::move(instance));
    for (;;) {
      const auto message = co_await peer->take();
      replica.snapshots += message.has_snapshot() ? 1 : 0;
    }
  }

  asio::awaitable<Result<Streams::Endpoints>> answer_name(HostPort address) {
    ++looks_;
    if (hang_) {
      asio::steady_timer forever(io_, kNoDeadline);
      co_await forever.async_wait(asio::use_awaitable);
    }
    Streams::Endpoints found;
    for (const std::string& host : name_) {
      found.emplace_back(asio::ip::make_address(host), address.port);
    }
    if (found.empty()) {
      co_return fail(ErrorCode::NotFound, "no such name");
    }
    co_return found;
  }

  void start(std::vector<std::string> name) {
    name_ = std::move(name);
    StreamOptions options = this->options();
    options.address = {"gpuskew-aggregator", port_};
    StreamsTiming timing;
    timing.look_every = look_every_;
    timing.look_soon = 1ms;
    streams_.emplace(
        io_, log_, std::move(options), [] {},
        [this](HostPort address, Deadline) { return answer_name(std::move(address)); }, timing);
    streams_->offer(snapshot());
    asio::co_spawn(io_, streams_->run(), [this](const std::exception_ptr& thrown, const Result<void>& result) {
      EXPECT_FALSE(thrown);
      EXPECT_TRUE(result);
      ended_ = true;
    });
  }

  void stop() {
    streams_->stop();
    run_until([this] { return ended_; });
  }

  bool is_told(const char* host, std::size_t snapshots) { return replicas_[host].snapshots >= snapshots; }

  std::map<std::string, Replica> replicas_;
  std::uint16_t port_ = 0;
  std::vector<std::string> name_;
  bool hang_ = false;
  int looks_ = 0;
  Duration look_every_ = 1h;
  std::optional<Streams> streams_;
  bool ended_ = false;
};

TEST_F(StreamsTest, EveryReplicaHearsEveryReport) {
  replica("127.0.0.1", "one");
  replica("127.0.0.2", "two");
  start({"127.0.0.1", "127.0.0.2"});
  run_until([this] { return is_told("127.0.0.1", 1) && is_told("127.0.0.2", 1); });
  streams_->offer(snapshot("6.8.0"));
  run_until([this] { return is_told("127.0.0.1", 2) && is_told("127.0.0.2", 2); });
  const std::string all = "connected to 2 of 2 addresses of gpuskew-aggregator:" + std::to_string(port_);
  run_until([this, &all] { return streams_->state() == all; });
  stop();
}

TEST_F(StreamsTest, AReplicaThatIsAwayDoesNotHoldUpTheOther) {
  replica("127.0.0.1", "one");
  start({"127.0.0.2", "127.0.0.1"});
  run_until([this] { return streams_->state().find("connected to 1 of 2 addresses of gpuskew-aggregator:") == 0; });
  EXPECT_NE(streams_->state().find("; not connected to 127.0.0.2:"), std::string::npos) << streams_->state();
  replica("127.0.0.2", "two");
  run_until([this] { return is_told("127.0.0.2", 1); });
  EXPECT_EQ(replicas_["127.0.0.1"].listener->connections(), 1u);
  stop();
}

TEST_F(StreamsTest, ANewReplicaIsFoundByTheNextLook) {
  look_every_ = 10ms;
  replica("127.0.0.1", "one");
  start({"127.0.0.1"});
  run_until([this] { return is_told("127.0.0.1", 1); });
  replica("127.0.0.2", "two");
  name_ = {"127.0.0.1", "127.0.0.2"};
  run_until([this] { return is_told("127.0.0.2", 1); });
  stop();
}

TEST_F(StreamsTest, AnAddressThatIsGoneIsLetGo) {
  look_every_ = 10ms;
  replica("127.0.0.1", "one");
  replica("127.0.0.2", "two");
  start({"127.0.0.1", "127.0.0.2"});
  run_until([this] { return is_told("127.0.0.1", 1) && is_told("127.0.0.2", 1); });
  name_ = {"127.0.0.2"};
  run_until([this] { return streams_->state() == "connected to 127.0.0.2:" + std::to_string(port_); });
  EXPECT_TRUE(has_logged("no longer an address of the aggregator")) << log_text();
  stop();
}

TEST_F(StreamsTest, TwoAddressesOfOneAggregatorGetOneStream) {
  replica("127.0.0.1", "one");
  replica("127.0.0.2", "one");
  start({"127.0.0.1", "127.0.0.2"});
  run_until([this] { return has_logged("two addresses of one aggregator, leaving one alone"); });
  streams_->offer(snapshot("6.8.0"));
  run_until([this] { return is_told("127.0.0.1", 2) || is_told("127.0.0.2", 2); });
  EXPECT_EQ(streams_->state().find("connected to 127.0.0."), 0u) << streams_->state();
  stop();
}

TEST_F(StreamsTest, TheOtherAddressIsTakenUpWhenTheKeptOneIsLost) {
  replica("127.0.0.1", "one");
  replica("127.0.0.2", "one");
  start({"127.0.0.1", "127.0.0.2"});
  run_until([this] { return has_logged("two addresses of one aggregator, leaving one alone"); });
  const bool kept_first = streams_->state() == "connected to 127.0.0.1:" + std::to_string(port_);
  const char* kept = kept_first ? "127.0.0.1" : "127.0.0.2";
  const char* left = kept_first ? "127.0.0.2" : "127.0.0.1";
  replicas_[kept].listener.reset();
  const std::size_t before = replicas_[left].snapshots;
  run_until([&] { return replicas_[left].snapshots > before; });
  stop();
}

TEST_F(StreamsTest, ANameThatIsNotThereIsTriedOnAndToldOnce) {
  replica("127.0.0.1", "one");
  start({});
  run_until([this] { return looks_ >= 3; });
  EXPECT_EQ(streams_->state(), "not connected to gpuskew-aggregator:" + std::to_string(port_) + ": no such name");
  const std::string text = log_text();
  const std::string line = "the aggregator's name could not be looked up";
  EXPECT_EQ(text.find(line), text.rfind(line)) << text;
  name_ = {"127.0.0.1"};
  run_until([this] { return is_told("127.0.0.1", 1); });
  stop();
}

TEST_F(StreamsTest, ALookUpThatFailsLeavesTheConnectionsAlone) {
  look_every_ = 5ms;
  replica("127.0.0.1", "one");
  start({"127.0.0.1"});
  run_until([this] { return is_told("127.0.0.1", 1); });
  name_ = {};
  const int looks = looks_;
  run_until([this, looks] { return looks_ >= looks + 3; });
  streams_->offer(snapshot("6.8.0"));
  run_until([this] { return is_told("127.0.0.1", 2); });
  EXPECT_EQ(replicas_["127.0.0.1"].listener->connections(), 1u);
  stop();
}

TEST_F(StreamsTest, AStopDoesNotWaitForANameServer) {
  replica("127.0.0.1", "one");
  hang_ = true;
  start({"127.0.0.1"});
  run_until([this] { return looks_ == 1; });
  stop();
}

TEST_F(StreamsTest, NewOptionsConnectAnew) {
  replica("127.0.0.1", "one");
  start({"127.0.0.1"});
  run_until([this] { return is_told("127.0.0.1", 1); });
  StreamOptions options = this->options();
  options.address = {"gpuskew-aggregator", port_};
  streams_->reconnect(std::move(options));
  run_until([this] { return is_told("127.0.0.1", 2); });
  EXPECT_EQ(replicas_["127.0.0.1"].listener->connections(), 2u);
  stop();
}

}  // namespace
}  // namespace gpuskew
