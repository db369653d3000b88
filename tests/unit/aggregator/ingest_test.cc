#include "aggregator/ingest.h"

#include <functional>
#include <memory>
#include <thread>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "runtime/listener.h"
#include "tests/support/certificates.h"
#include "tests/unit/aggregator/rig.h"
#include "tests/unit/aggregator/tls_agent.h"

namespace gpuskew {
namespace {

CertificateSpec naming(const std::string& node) {
  CertificateSpec spec;
  spec.common_name = node;
  spec.dns_names = {node};
  return spec;
}

class IngestTest : public testing::Test {
 protected:
  IngestTest() { listen({}); }

  void listen(IngestLimits limits) {
    listener.reset();
    ingest = std::make_unique<Ingest>(rig.captured.log(), tls, rig.recorder, commits, limits);
    ListenerOptions options;
    options.name = "agents";
    options.endpoint = {asio::ip::address_v4::loopback(), 0};
    listener = Listener::open(io, rig.captured.log(), options, [this](asio::ip::tcp::socket socket) {
                 return ingest->serve(std::move(socket));
               }).value();
    port = listener->endpoint().port();
  }

  /// Serves on this thread while `client` talks on another; afterwards everything may be looked at.
  void serve_while(const std::function<void()>& client) {
    asio::co_spawn(io, listener->run(), [](const std::exception_ptr& thrown, const Result<void>& ended) {
      EXPECT_FALSE(thrown);
      EXPECT_TRUE(ended);
    });
    std::thread thread([this, &client] {
      client();
      asio::post(io, [this] { listener->stop(); });
    });
    io.run();
    thread.join();
  }

  TlsFiles agent_files(const std::string& node) { return authority.issue(node, naming(node)); }

  /// That the log names this reason, once, with these fields.
  void expect_refused(const std::string& reason, std::initializer_list<const char*> fields) {
    EXPECT_EQ(rig.captured.count("refused agent reason=" + reason), 1u) << rig.captured.text();
    for (const char* field : fields) {
      EXPECT_EQ(rig.captured.count(field), 1u) << field << "\n" << rig.captured.text();
    }
  }

  Rig rig;
  CertificateAuthority authority{rig.directory.path(), "agents"};
  TlsContext tls = TlsContext::server(authority.issue("aggregator", naming("aggregator"))).value();
  asio::io_context io{1};
  CommitTurn commits{io, rig.writer};
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<Listener> listener;
  std::uint16_t port = 0;
};

TEST_F(IngestTest, AcknowledgesAReportOnlyWhenItIsStored) {
  const TlsFiles files = agent_files("gpu-1");
  std::int64_t stored = 0;
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-1"));
    EXPECT_EQ(agent.receive()->welcome().version(), 1u);
    agent.send(snapshot_message(healthy_snapshot("gpu-1"), 1));
    EXPECT_EQ(agent.receive()->ack().sequence(), 1u);
    Database database = Database::open(rig.database(), Database::Mode::OpenExisting).value();
    stored = database.query_integer("SELECT count(*) FROM nodes").value();
  });
  EXPECT_EQ(stored, 1);
  EXPECT_EQ(ingest->counts().reports, 1u);
  EXPECT_EQ(ingest->counts().connected, 0u) << "it has gone";
}

TEST_F(IngestTest, AcknowledgesManyMessagesOfOneWriteInOrder) {
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    std::string bytes;
    ASSERT_TRUE(append_frame(bytes, hello_message("gpu-1")));
    ASSERT_TRUE(append_frame(bytes, snapshot_message(healthy_snapshot("gpu-1"), 1)));
    for (std::uint64_t sequence = 2; sequence < 200; ++sequence) {
      ASSERT_TRUE(append_frame(bytes, sequence % 2 == 0 ? heartbeat_message(sequence)
                                                        : snapshot_message(healthy_snapshot("gpu-1"), sequence)));
    }
    TlsAgent agent(port, files);
    agent.send_bytes(bytes);
    EXPECT_TRUE(agent.receive()->has_welcome());
    for (std::uint64_t sequence = 1; sequence < 200; ++sequence) {
      ASSERT_EQ(agent.receive()->ack().sequence(), sequence);
    }
  });
}

TEST_F(IngestTest, RefusesAndLogsAnAgentWhoseCertificateNamesAnotherNode) {
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-2"));
    EXPECT_EQ(agent.receive()->refusal().code(), v1::Refusal::IDENTITY);
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("identity", {"certificate=gpu-1", "node=gpu-2", "peer=127.0.0.1:"});
  EXPECT_EQ(ingest->counts().of(RefusedReason::Identity), 1u);
  EXPECT_TRUE(rig.fleet.nodes().empty());
}

TEST_F(IngestTest, TakesTheCommonNameOfACertificateWithoutAlternativeNames) {
  CertificateSpec spec;
  spec.common_name = "gpu-1";
  const TlsFiles files = authority.issue("cn", spec);
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-1"));
    EXPECT_TRUE(agent.receive()->has_welcome());
  });
}

TEST_F(IngestTest, RefusesAndLogsAPlainTextClient) {
  std::string answer;
  serve_while([&] { answer = talk_plainly(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); });
  EXPECT_EQ(answer.find("HTTP"), std::string::npos);
  expect_refused("handshake", {"peer=127.0.0.1:"});
}

TEST_F(IngestTest, RefusesAndLogsTls12) {
  const TlsFiles files = agent_files("gpu-1");
  bool shaken = true;
  serve_while([&] { shaken = TlsAgent(port, files, TLS1_2_VERSION).has_shaken_hands(); });
  EXPECT_FALSE(shaken);
  expect_refused("handshake", {"peer=127.0.0.1:"});
}

TEST_F(IngestTest, RefusesAndLogsACertificateOfAnotherAuthority) {
  const CertificateAuthority other(rig.directory.path(), "other");
  const TlsFiles files = other.issue("stranger", naming("gpu-1"));
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-1"));
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("handshake", {"peer=127.0.0.1:"});
}

TEST_F(IngestTest, RefusesAndLogsAnAgentWithoutACertificate) {
  serve_while([&] {
    TlsAgent agent(port, TlsFiles{});
    agent.send(hello_message("gpu-1"));
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("handshake", {"peer=127.0.0.1:"});
}

TEST_F(IngestTest, AnAnnouncementOfOneGibibyteCostsNothing) {
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-1"));
    EXPECT_TRUE(agent.receive()->has_welcome());
    agent.send_bytes(std::string("\x40\x00\x00\x00", 4));
    EXPECT_EQ(agent.receive()->refusal().code(), v1::Refusal::PROTOCOL);
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("protocol", {"a frame of 1073741824 bytes"});
}

TEST_F(IngestTest, RefusesGarbageInAFrame) {
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send("\xff\xff\xff\xff");
    EXPECT_EQ(agent.receive()->refusal().code(), v1::Refusal::PROTOCOL);
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("protocol", {"certificate=gpu-1"});
}

TEST_F(IngestTest, GoesOnAfterAMessageOfALaterVersion) {
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-1", 1, 9));
    EXPECT_EQ(agent.receive()->welcome().version(), 1u);
    agent.send(std::string("\xa2\x06\x03xyz", 6));
    agent.send(snapshot_message(healthy_snapshot("gpu-1"), 1));
    EXPECT_EQ(agent.receive()->ack().sequence(), 1u);
  });
}

TEST_F(IngestTest, ClosesAConnectionThatSaysNoHello) {
  IngestLimits limits;
  limits.hello = std::chrono::milliseconds(50);
  listen(limits);
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send_bytes(std::string("\x00\x00", 2));
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("timeout", {"no Hello in time"});
}

TEST_F(IngestTest, ClosesAConnectionThatFallsSilent) {
  IngestLimits limits;
  limits.idle = std::chrono::milliseconds(50);
  listen(limits);
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent agent(port, files);
    agent.send(hello_message("gpu-1"));
    EXPECT_TRUE(agent.receive()->has_welcome());
    EXPECT_FALSE(agent.receive());
  });
  expect_refused("timeout", {"no heartbeat in time"});
}

TEST_F(IngestTest, ClosesAConnectionThatNeverShakesHands) {
  IngestLimits limits;
  limits.handshake = std::chrono::milliseconds(50);
  listen(limits);
  serve_while([&] { EXPECT_EQ(talk_plainly(port, ""), ""); });
  expect_refused("timeout", {"peer=127.0.0.1:"});
}

TEST_F(IngestTest, ASecondConnectionOfANodeTakesThePlaceOfTheFirst) {
  const TlsFiles files = agent_files("gpu-1");
  serve_while([&] {
    TlsAgent first(port, files);
    first.send(hello_message("gpu-1"));
    EXPECT_TRUE(first.receive()->has_welcome());
    TlsAgent second(port, files);
    second.send(hello_message("gpu-1"));
    EXPECT_TRUE(second.receive()->has_welcome());
    EXPECT_FALSE(first.receive()) << "the older one is closed";
    second.send(snapshot_message(healthy_snapshot("gpu-1"), 1));
    EXPECT_EQ(second.receive()->ack().sequence(), 1u);
  });
  EXPECT_EQ(rig.captured.count("agent connected again"), 1u);
  EXPECT_EQ(ingest->counts().connected, 0u);
}

}  // namespace
}  // namespace gpuskew
