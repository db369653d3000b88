// Agents without a certificate: whom Ingest takes by a token, and what it does while nobody can be asked.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <gtest/gtest.h>

#include "aggregator/ingest.h"
#include "runtime/listener.h"
#include "tests/support/certificates.h"
#include "tests/unit/aggregator/rig.h"
#include "tests/unit/aggregator/tls_agent.h"

namespace gpuskew {
namespace {

constexpr const char* kToken = "the-token-of-gpu-1";

CertificateSpec naming(const std::string& node) {
  CertificateSpec spec;
  spec.common_name = node;
  spec.dns_names = {node};
  return spec;
}

std::string hello_with_token(const std::string& node, const std::string& token) {
  v1::AgentMessage message;
  message.ParseFromString(hello_message(node));
  message.mutable_hello()->set_token(token);
  return message.SerializeAsString();
}

class IngestTokens : public testing::Test {
 protected:
  IngestTokens() {
    ListenerOptions options;
    options.name = "agents";
    options.endpoint = {asio::ip::address_v4::loopback(), 0};
    listener_ = Listener::open(io_, rig_.captured.log(), options, [this](asio::ip::tcp::socket socket) {
                  return ingest_.serve(std::move(socket));
                }).value();
  }

  /// Serves on this thread while `client` talks on another; afterwards everything may be looked at.
  void serve_while(const std::function<void()>& client) {
    asio::co_spawn(io_, listener_->run(), [](const std::exception_ptr& thrown, const Result<void>& ended) {
      EXPECT_FALSE(thrown);
      EXPECT_TRUE(ended);
    });
    std::thread thread([this, &client] {
      client();
      asio::post(io_, [this] { listener_->stop(); });
    });
    io_.run();
    thread.join();
  }

  void accept(Result<std::string> answer) {
    ingest_.accept_tokens([this, answer](std::string token) { return look_up(std::move(token), answer); });
  }
  asio::awaitable<Result<std::string>> look_up(std::string token, Result<std::string> answer) {
    shown_.push_back(std::move(token));
    co_return answer;
  }

  TlsAgent bare_agent() const { return TlsAgent(listener_->endpoint().port(), TlsFiles{}); }
  TlsAgent agent_of(const std::string& node) const {
    return TlsAgent(listener_->endpoint().port(), authority_.issue(node, naming(node)));
  }

  Rig rig_;
  CertificateAuthority authority_{rig_.directory.path(), "agents"};
  TlsContext tls_ = TlsContext::server(authority_.issue("aggregator", naming("aggregator")), true).value();
  asio::io_context io_{1};
  CommitTurn commits_{io_, rig_.writer};
  Ingest ingest_{rig_.captured.log(), tls_, rig_.recorder, commits_};
  std::unique_ptr<Listener> listener_;
  std::vector<std::string> shown_;
};

TEST_F(IngestTokens, ATokenIsTakenForItsNode) {
  accept(std::string("gpu-1"));
  serve_while([&] {
    TlsAgent agent = bare_agent();
    agent.send(hello_with_token("gpu-1", kToken));
    EXPECT_TRUE(agent.receive()->has_welcome());
    agent.send(snapshot_message(healthy_snapshot("gpu-1"), 1));
    EXPECT_EQ(agent.receive()->ack().sequence(), 1u);
  });
  EXPECT_EQ(shown_, std::vector<std::string>{kToken});
  EXPECT_NE(rig_.fleet.find("gpu-1"), nullptr);
}

TEST_F(IngestTokens, WhatCameWithTheHelloWaitsForTheAnswer) {
  accept(std::string("gpu-1"));
  serve_while([&] {
    std::string bytes;
    ASSERT_TRUE(append_frame(bytes, hello_with_token("gpu-1", kToken)));
    ASSERT_TRUE(append_frame(bytes, snapshot_message(healthy_snapshot("gpu-1"), 1)));
    ASSERT_TRUE(append_frame(bytes, heartbeat_message(2)));
    TlsAgent agent = bare_agent();
    agent.send_bytes(bytes);
    EXPECT_TRUE(agent.receive()->has_welcome());
    EXPECT_EQ(agent.receive()->ack().sequence(), 1u);
    EXPECT_EQ(agent.receive()->ack().sequence(), 2u);
  });
  EXPECT_EQ(shown_.size(), 1u);
}

TEST_F(IngestTokens, ATokenIsNotTakenForAnotherNodeNotEvenLater) {
  accept(std::string("gpu-1"));
  serve_while([&] {
    TlsAgent agent = bare_agent();
    agent.send(hello_with_token("gpu-2", kToken));
    EXPECT_EQ(agent.receive()->refusal().code(), v1::Refusal::IDENTITY);
    EXPECT_FALSE(agent.receive());

    TlsAgent later = bare_agent();
    later.send(hello_with_token("gpu-1", kToken));
    EXPECT_TRUE(later.receive()->has_welcome());
    later.send(snapshot_message(healthy_snapshot("gpu-2"), 1));
    EXPECT_EQ(later.receive()->refusal().code(), v1::Refusal::IDENTITY);
  });
  EXPECT_EQ(rig_.fleet.find("gpu-2"), nullptr);
}

TEST_F(IngestTokens, ADeniedTokenIsRefusedAndNotLogged) {
  accept(fail(ErrorCode::Denied, "the API server does not know the token"));
  serve_while([&] {
    TlsAgent agent = bare_agent();
    agent.send(hello_with_token("gpu-1", kToken));
    const auto refusal = agent.receive()->refusal();
    EXPECT_EQ(refusal.code(), v1::Refusal::IDENTITY);
    EXPECT_EQ(refusal.reason(), "the API server does not know the token");
    EXPECT_FALSE(agent.receive());
  });
  EXPECT_EQ(rig_.captured.count("refused agent reason=identity"), 1u) << rig_.captured.text();
  EXPECT_EQ(rig_.captured.count(kToken), 0u) << rig_.captured.text();
}

TEST_F(IngestTokens, WhileNobodyCanBeAskedTheAgentIsToldToComeAgain) {
  accept(fail(ErrorCode::Unreachable, "the API server is away"));
  serve_while([&] {
    TlsAgent agent = bare_agent();
    agent.send(hello_with_token("gpu-1", kToken));
    const auto refusal = agent.receive()->refusal();
    EXPECT_EQ(refusal.code(), v1::Refusal::OVERLOADED);
    EXPECT_EQ(refusal.reason(), "the token could not be checked: the API server is away");
  });
  EXPECT_EQ(rig_.fleet.find("gpu-1"), nullptr);
}

TEST_F(IngestTokens, NobodyIsTakenWithoutATokenAndACertificate) {
  accept(std::string("gpu-1"));
  serve_while([&] {
    TlsAgent agent = bare_agent();
    agent.send(hello_message("gpu-1"));
    EXPECT_EQ(agent.receive()->refusal().code(), v1::Refusal::IDENTITY);
    TlsAgent mute = bare_agent();
    mute.send(snapshot_message(healthy_snapshot("gpu-1"), 1));
    EXPECT_TRUE(mute.receive()->has_refusal());
  });
  EXPECT_TRUE(shown_.empty());
  EXPECT_EQ(rig_.fleet.find("gpu-1"), nullptr);
}

TEST_F(IngestTokens, ATokenMeansNothingWhereNoneAreAccepted) {
  serve_while([&] {
    TlsAgent agent = bare_agent();
    agent.send(hello_with_token("gpu-1", kToken));
    EXPECT_EQ(agent.receive()->refusal().code(), v1::Refusal::IDENTITY);
  });
  EXPECT_EQ(rig_.fleet.find("gpu-1"), nullptr);
}

TEST_F(IngestTokens, ACertificateIsBelievedAndNoTokenBesideIt) {
  accept(std::string("gpu-2"));
  serve_while([&] {
    TlsAgent agent = agent_of("gpu-1");
    agent.send(hello_with_token("gpu-1", kToken));
    EXPECT_TRUE(agent.receive()->has_welcome());
    TlsAgent other = agent_of("gpu-3");
    other.send(hello_with_token("gpu-2", kToken));
    EXPECT_EQ(other.receive()->refusal().code(), v1::Refusal::IDENTITY);
  });
  EXPECT_TRUE(shown_.empty());
}

}  // namespace
}  // namespace gpuskew
