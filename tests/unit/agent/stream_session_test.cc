#include "agent/stream_session.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/agent/stream_fixture.h"

namespace gpuskew {
namespace {

using namespace std::chrono_literals;
using Peer = std::shared_ptr<ImposterPeer>;

class StreamSessionTest : public StreamFixture {
 protected:
  // One session from open() to its end.
  asio::awaitable<void> converse(StreamOptions options) {
    auto opened = co_await StreamSession::open(std::move(options), outbox_.newest());
    if (!opened) {
      end_ = Result<void>(tl::unexpected(opened.error()));
      co_return;
    }
    session_ = *opened;
    std::function<bool(bool)> finished = [this](bool acknowledged) {
      acknowledged_ += acknowledged ? 1 : 0;
      return stop_;
    };
    auto ended = co_await session_->exchange(outbox_, std::move(finished));
    if (ended) {
      co_await session_->close();
    }
    end_ = std::move(ended);
  }
  void start(StreamOptions options) {
    if (!outbox_.newest()) {
      outbox_.offer(snapshot());
    }
    asio::co_spawn(io_, converse(std::move(options)), [](const std::exception_ptr& thrown) { EXPECT_FALSE(thrown); });
  }
  Error failure() {
    run_until([this] { return end_.has_value(); });
    return end_ && !*end_ ? end_->error() : Error{ErrorCode::Internal, "ended well"};
  }

  Outbox outbox_{io_.get_executor()};
  std::shared_ptr<StreamSession> session_;
  std::optional<Result<void>> end_;
  int acknowledged_ = 0;
  bool stop_ = false;
};

TEST_F(StreamSessionTest, SaysHelloThenSendsTheSnapshotAndHeartbeats) {
  v1::Hello hello;
  std::vector<v1::AgentMessage> messages;
  serve([&](Peer peer) -> asio::awaitable<void> {
    hello = co_await peer->welcome();
    while (messages.size() < 3) {
      auto message = co_await peer->take();
      messages.push_back(std::move(message));
    }
    stop_ = true;
    const auto end = co_await peer->receive();
    EXPECT_FALSE(end) << "an orderly end was expected";
  });
  StreamOptions options = this->options();
  options.heartbeat = 20ms;
  start(options);
  run_until([this] { return end_.has_value(); });
  EXPECT_TRUE(end_->has_value());
  EXPECT_EQ(hello.node(), "gpu-1");
  EXPECT_EQ(hello.boot_id(), "boot");
  EXPECT_EQ(hello.agent_version(), "0.1.0");
  EXPECT_EQ(hello.min_version(), 1u);
  EXPECT_EQ(hello.max_version(), 1u);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].snapshot().sequence(), 1u);
  EXPECT_EQ(messages[0].snapshot().kernel().known(), "5.15.0-119-generic");
  EXPECT_EQ(messages[1].heartbeat().sequence(), 2u);
  EXPECT_EQ(messages[2].heartbeat().sequence(), 3u);
  EXPECT_GT(messages[2].heartbeat().sent_unix_ms(), 0);
  EXPECT_EQ(acknowledged_, 1) << "a heartbeat's acknowledgement is no snapshot's";
}

TEST_F(StreamSessionTest, ASlowAggregatorGetsOnlyTheNewestSnapshot) {
  std::vector<std::string> kernels;
  serve([&](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome();
    const auto first = co_await peer->receive();
    kernels.push_back(first->snapshot().kernel().known());
    for (const char* kernel : {"6.1.0", "6.2.0", "6.3.0"}) {
      outbox_.offer(snapshot(kernel));
    }
    co_await peer->acknowledge(1);
    const auto second = co_await peer->take();
    kernels.push_back(second.snapshot().kernel().known());
    stop_ = true;
    co_await peer->receive();
  });
  start(options());
  run_until([this] { return end_.has_value(); });
  EXPECT_EQ(kernels, (std::vector<std::string>{"5.15.0-119-generic", "6.3.0"}));
}

TEST_F(StreamSessionTest, NothingIsSentBeforeTheLastMessageIsAcknowledged) {
  bool sent_early = false;
  serve([&](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome();
    co_await peer->receive();
    outbox_.offer(snapshot("6.1.0"));
    const auto next = co_await peer->receive();
    sent_early = next.has_value();
  });
  StreamOptions options = this->options();
  options.limits.ack = 100ms;
  options.heartbeat = 10ms;
  start(options);
  const Error error = failure();
  EXPECT_EQ(error.code, ErrorCode::Timeout);
  EXPECT_NE(error.what.find("no acknowledgement of message 1"), std::string::npos) << error.what;
  EXPECT_FALSE(sent_early);
}

TEST_F(StreamSessionTest, ARefusalIsAnErrorWithTheAggregatorsReason) {
  const std::vector<std::pair<v1::Refusal::Code, ErrorCode>> codes{
      {v1::Refusal::IDENTITY, ErrorCode::Denied},
      {v1::Refusal::VERSION, ErrorCode::Unsupported},
      {v1::Refusal::PROTOCOL, ErrorCode::Malformed},
      {v1::Refusal::OVERLOADED, ErrorCode::Unreachable},
  };
  for (const auto& [code, expected] : codes) {
    const v1::Refusal::Code sent = code;
    serve([sent](Peer peer) -> asio::awaitable<void> {
      co_await peer->receive();
      co_await peer->refuse(sent, "because I say so");
    });
    end_.reset();
    start(options());
    const Error error = failure();
    EXPECT_EQ(error.code, expected);
    EXPECT_NE(error.what.find("the aggregator refused: because I say so"), std::string::npos) << error.what;
  }
}

TEST_F(StreamSessionTest, ARefusalInMidStreamEndsIt) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome();
    co_await peer->receive();
    co_await peer->refuse(v1::Refusal::IDENTITY, "another node");
    co_await peer->receive();
  });
  start(options());
  EXPECT_EQ(failure().code, ErrorCode::Denied);
}

TEST_F(StreamSessionTest, AVersionOutsideTheOfferIsNotSpoken) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome(2);
    co_await peer->receive();
  });
  start(options());
  const Error error = failure();
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_NE(error.what.find("wants stream version 2"), std::string::npos) << error.what;
}

TEST_F(StreamSessionTest, WhatALaterVersionSaysIsNothingSaid) {
  serve([this](Peer peer) -> asio::awaitable<void> {
    const std::string unknown_case("\0\0\0\x04\xa2\x06\x01x", 8);  // field 100, one byte
    co_await peer->receive();
    co_await peer->send_bytes(unknown_case);
    v1::AggregatorMessage welcome;
    welcome.mutable_welcome()->set_version(1);
    co_await peer->send(welcome);
    co_await peer->send_bytes(unknown_case);
    co_await peer->take();
    stop_ = true;
    co_await peer->receive();
  });
  start(options());
  run_until([this] { return end_.has_value(); });
  EXPECT_TRUE(end_->has_value());
  EXPECT_EQ(acknowledged_, 1);
}

TEST_F(StreamSessionTest, GarbageEndsTheConnection) {
  for (const std::string& garbage : {std::string("\0\0\0\x03xyz", 7), std::string("\x40\0\0\0", 4)}) {
    serve([garbage](Peer peer) -> asio::awaitable<void> {
      co_await peer->welcome();
      co_await peer->send_bytes(garbage);
      co_await peer->receive();
      co_await peer->receive();
    });
    end_.reset();
    start(options());
    const Error error = failure();
    EXPECT_TRUE(error.code == ErrorCode::Malformed || error.code == ErrorCode::TooLarge) << error.what;
  }
}

TEST_F(StreamSessionTest, AnAcknowledgementOfNothingIsMalformed) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->welcome();
    co_await peer->acknowledge(7);
    co_await peer->receive();
    co_await peer->receive();
  });
  start(options());
  EXPECT_EQ(failure().code, ErrorCode::Malformed);
}

TEST_F(StreamSessionTest, AnAggregatorThatSaysNothingIsATimeout) {
  serve([](Peer peer) -> asio::awaitable<void> {
    co_await peer->receive();
    co_await peer->receive();
  });
  StreamOptions options = this->options();
  options.limits.connect = 200ms;
  start(options);
  EXPECT_EQ(failure().code, ErrorCode::Timeout);
}

TEST_F(StreamSessionTest, AServerOfAnotherNameOrCaIsRefused) {
  serve([](Peer peer) -> asio::awaitable<void> { co_await peer->receive(); });
  StreamOptions other_name = options();
  other_name.server_name = "gpuskew.example";
  start(other_name);
  EXPECT_EQ(failure().code, ErrorCode::Denied) << failure().what;

  const CertificateAuthority stranger(tree_.path(), "stranger");
  StreamOptions other_ca = options();
  other_ca.tls.ca = stranger.ca_file();
  end_.reset();
  start(other_ca);
  EXPECT_EQ(failure().code, ErrorCode::Denied) << failure().what;
}

TEST_F(StreamSessionTest, ACertificateTheServerDoesNotTakeIsSaidSo) {
  serve([](Peer peer) -> asio::awaitable<void> { co_await peer->receive(); });
  const CertificateAuthority stranger(tree_.path(), "stranger");
  CertificateSpec spec;
  spec.common_name = "gpu-1";
  StreamOptions options = this->options();
  const std::filesystem::path ca = options.tls.ca;
  options.tls = stranger.issue("strange", spec);
  options.tls.ca = ca;
  start(options);
  const Error error = failure();
  EXPECT_NE(error.what, "ended well");
  EXPECT_EQ(error.what.find("127.0.0.1:"), 0u) << error.what;
}

TEST_F(StreamSessionTest, AMissingCertificateIsNamed) {
  serve([](Peer peer) -> asio::awaitable<void> { co_await peer->receive(); });
  StreamOptions options = this->options();
  options.tls.key = "/no/such.key";
  start(options);
  const Error error = failure();
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_NE(error.what.find("/no/such.key"), std::string::npos) << error.what;
}

}  // namespace
}  // namespace gpuskew
