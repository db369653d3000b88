#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "agent/stream_session.h"
#include "runtime/log.h"
#include "tests/support/certificates.h"
#include "tests/support/process.h"
#include "tests/unit/agent/aggregator_imposter.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {

/// Certificates, an imposter on the same loop, and a log that can be read.
class StreamFixture : public ::testing::Test {
 protected:
  StreamFixture() {
    CertificateSpec server;
    server.common_name = "aggregator";
    server.ip_addresses = {"127.0.0.1"};
    server_files_ = authority_.issue("server", server);
    CertificateSpec client;
    client.common_name = "gpu-1";
    client_files_ = authority_.issue("gpu-1", client);
  }
  ~StreamFixture() override { ::close(log_fd_); }

  void serve(AggregatorImposter::Script script, std::uint16_t port = 0) {
    imposter_.emplace(io_, server_files_, std::move(script), port);
  }

  StreamOptions options() const {
    StreamOptions options;
    options.address = {"127.0.0.1", imposter_ ? imposter_->port() : std::uint16_t{1}};
    options.server_name = "127.0.0.1";
    options.tls = client_files_;
    options.limits.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    return options;
  }

  static std::shared_ptr<const Snapshot> snapshot(const char* kernel = "5.15.0-119-generic") {
    Snapshot made;
    made.node = "gpu-1";
    made.agent_version = "0.1.0";
    made.taken_at = from_unix_ms(1'796'054'737'000);
    made.boot_id = Fact<std::string>::known("boot", "");
    made.kernel = Fact<KernelRelease>::known(*KernelRelease::parse(kernel), "");
    return std::make_shared<const Snapshot>(std::move(made));
  }

  /// Runs the loop until `done` says so.
  template <class Predicate>
  void run_until(Predicate done) {
    io_.restart();
    const Deadline limit = std::chrono::steady_clock::now() + kPatience;
    while (!done() && std::chrono::steady_clock::now() < limit) {
      io_.run_one_until(limit);
    }
    ASSERT_TRUE(done()) << "did not happen in time; the log:\n" << log_text();
  }

  std::string log_text() const {
    std::string text(static_cast<std::size_t>(::lseek(log_fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(log_fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }
  bool has_logged(const char* part) const { return log_text().find(part) != std::string::npos; }

  ScratchTree tree_;
  CertificateAuthority authority_{tree_.path(), "ours"};
  TlsFiles server_files_;
  TlsFiles client_files_;
  int log_fd_ = ::memfd_create("log", MFD_CLOEXEC);
  Log log_{log_fd_, LogLevel::Info};
  asio::io_context io_{1};
  std::optional<AggregatorImposter> imposter_;
};

}  // namespace gpuskew
