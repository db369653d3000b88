#include "agent/stream.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/agent/stream_fixture.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
using Peer = std::shared_ptr<ImposterPeer>;

// Takes whatever comes, for as long as it comes.
asio::awaitable<void> take_all(Peer peer, int& snapshots) {
  co_await peer->welcome();
  for (;;) {
    const auto message = co_await peer->take();
    snapshots += message.has_snapshot() ? 1 : 0;
  }
}

class StreamTest : public StreamFixture {
 protected:
  void start(StreamOptions options) {
    stream_.emplace(io_, log_, std::move(options), [this] { states_.push_back(stream_->state()); });
    stream_->offer(snapshot());
    asio::co_spawn(io_, stream_->run(), [this](const std::exception_ptr& thrown, const Result<void>& result) {
      EXPECT_FALSE(thrown);
      EXPECT_TRUE(result);
      ended_ = true;
    });
  }
  void stop() {
    stream_->stop();
    run_until([this] { return ended_; });
  }
  Result<void> deliver(StreamOptions options, Duration limit) {
    std::optional<Result<void>> end;
    stream_.emplace(io_, log_, std::move(options));
    stream_->offer(snapshot());
    asio::co_spawn(io_, stream_->deliver_once(std::chrono::steady_clock::now() + limit),
                   [&end](const std::exception_ptr& thrown, Result<void> result) {
                     EXPECT_FALSE(thrown);
                     end = std::move(result);
                   });
    run_until([&end] { return end.has_value(); });
    return end ? std::move(*end) : fail(ErrorCode::Internal, "did not end");
  }
  std::size_t lines(const std::string& part) const {
    const std::string text = log_text();
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }

  std::optional<Stream> stream_;
  std::vector<std::string> states_;
  bool ended_ = false;
  int snapshots_ = 0;
};

TEST_F(StreamTest, SaysOnceThatItIsConnected) {
  serve([this](Peer peer) { return take_all(std::move(peer), snapshots_); });
  start(options());
  run_until([this] { return snapshots_ == 1 && !states_.empty(); });
  stream_->offer(snapshot("6.8.0"));
  run_until([this] { return snapshots_ == 2; });
  EXPECT_EQ(states_, std::vector<std::string>{"connected to 127.0.0.1:" + std::to_string(imposter_->port())});
  EXPECT_EQ(lines("info  connected to the aggregator"), 1u) << log_text();
  stop();
  EXPECT_EQ(imposter_->connections(), 1u);
}

TEST_F(StreamTest, ComesBackWhenTheServerDoes) {
  serve([this](Peer peer) { return take_all(std::move(peer), snapshots_); });
  const std::uint16_t port = imposter_->port();
  start(options());
  run_until([this] { return has_logged("connected to the aggregator"); });
  imposter_.reset();
  run_until([this] { return has_logged("lost the connection to the aggregator"); });
  EXPECT_EQ(states_.back().find("not connected to 127.0.0.1:"), 0u) << states_.back();
  stream_->offer(snapshot("6.8.0"));
  serve([this](Peer peer) { return take_all(std::move(peer), snapshots_); }, port);
  run_until([this] { return lines("info  connected to the aggregator") == 2; });
  EXPECT_EQ(snapshots_, 2) << "each connection begins with the newest snapshot";
  stop();
}

TEST_F(StreamTest, ConnectsAnewWhenNoAcknowledgementComes) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome();
    for (;;) {
      const auto message = co_await peer->receive();
      if (!message) {
        co_return;
      }
    }
  });
  StreamOptions options = this->options();
  options.limits.ack = 50ms;
  start(options);
  run_until([this] { return imposter_->connections() >= 3; });
  EXPECT_TRUE(has_logged("no acknowledgement of message 1")) << log_text();
  EXPECT_EQ(lines("info  connected"), 0u) << "a connection on which nothing was acknowledged proves nothing";
  stop();
}

TEST_F(StreamTest, TheFirstFailureAndEveryTenthIsLogged) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->receive();
    co_await peer->refuse(v1::Refusal::IDENTITY, "not you");
  });
  start(options());
  run_until([this] { return has_logged("failures=30"); });
  EXPECT_EQ(lines("not connected to the aggregator"), 4u) << log_text();
  EXPECT_TRUE(has_logged("failures=1\n"));
  EXPECT_TRUE(has_logged("the aggregator refused: not you"));
  stop();
}

TEST_F(StreamTest, AFailureOfAnotherKindIsNews) {
  int connections = 0;
  serve([&connections](Peer peer) -> asio::awaitable<void> {
    co_await peer->receive();
    const v1::Refusal::Code code = ++connections <= 2 ? v1::Refusal::IDENTITY : v1::Refusal::VERSION;
    co_await peer->refuse(code, "no");
  });
  start(options());
  run_until([this] { return lines("not connected to the aggregator") == 2; });
  stop();
}

TEST_F(StreamTest, StopsAtOnceWhileAPeerDoesNotAnswer) {
  serve([](Peer peer) -> asio::awaitable<void> {
    for (;;) {
      const auto message = co_await peer->receive();
      if (!message) {
        co_return;
      }
    }
  });
  StreamOptions options = this->options();
  options.limits.connect = 1h;
  start(options);
  run_until([this] { return imposter_->connections() == 1; });
  const auto begin = std::chrono::steady_clock::now();
  stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(StreamTest, StopsAtOnceWhileItWaitsForTheNextTry) {
  StreamOptions options = this->options();
  options.limits.backoff = {1h, 1h};
  start(options);
  run_until([this] { return has_logged("not connected"); });
  stop();
}

TEST_F(StreamTest, ReconnectsByNewOptionsAtOnce) {
  serve([this](Peer peer) { return take_all(std::move(peer), snapshots_); });
  start(options());
  run_until([this] { return lines("info  connected") == 1; });
  stream_->reconnect(options());
  run_until([this] { return snapshots_ == 2 && lines("info  connected") == 2; });
  EXPECT_EQ(lines("lost the connection"), 0u) << log_text();

  StreamOptions broken = options();
  broken.tls.key = "/no/such.key";
  broken.limits.backoff = {1h, 1h};
  stream_->reconnect(broken);
  run_until([this] { return has_logged("/no/such.key"); });
  stream_->reconnect(options());
  run_until([this] { return snapshots_ == 3; });
  stop();
}

TEST_F(StreamTest, CertificatesAreReadAgainForEachConnection) {
  serve([this](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome();
    co_await peer->take();
    ++snapshots_;
  });
  StreamOptions options = this->options();
  const std::filesystem::path key = options.tls.key;
  std::filesystem::rename(key, key.string() + ".away");
  start(options);
  run_until([this] { return has_logged("not connected"); });
  std::filesystem::rename(key.string() + ".away", key);
  run_until([this] { return snapshots_ >= 1; });
  stop();
}

TEST_F(StreamTest, DeliversOnceAndEnds) {
  serve([this](Peer peer) { return take_all(std::move(peer), snapshots_); });
  EXPECT_TRUE(deliver(options(), 20s));
  EXPECT_EQ(snapshots_, 1);
}

TEST_F(StreamTest, DeliverOnceTriesAgainUntilItsDeadline) {
  int connections = 0;
  serve([this, &connections](Peer peer) -> asio::awaitable<void> {
    ++connections;
    if (connections == 1) {
      co_return;
    }
    co_await take_all(std::move(peer), snapshots_);
  });
  EXPECT_TRUE(deliver(options(), 20s));
  EXPECT_EQ(connections, 2);

  imposter_.reset();
  const auto end = deliver(options(), 100ms);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::Unreachable);
}

TEST_F(StreamTest, DeliverOnceTellsWhatItWasToldNotThatTheTimeWasUp) {
  int connections = 0;
  serve([this, &connections](Peer peer) -> asio::awaitable<void> {
    if (++connections == 1) {
      co_await peer->receive();
      co_await peer->refuse(v1::Refusal::OVERLOADED, "no room");
      co_return;
    }
    asio::steady_timer forever(io_, kNoDeadline);
    co_await forever.async_wait(asio::use_awaitable);
  });
  const auto end = deliver(options(), 300ms);
  ASSERT_FALSE(end);
  EXPECT_NE(end.error().what.find("no room"), std::string::npos) << end.error().what;
  EXPECT_GE(connections, 2);
}

TEST_F(StreamTest, DeliverOnceEndsAtOnceWhereAnotherTryWouldNotHelp) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->receive();
    co_await peer->refuse(v1::Refusal::IDENTITY, "not you");
  });
  const auto end = deliver(options(), 1h);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::Denied);
  EXPECT_EQ(imposter_->connections(), 1u);
}

}  // namespace
}  // namespace gpuskew
