#include "agent/label_publisher.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "runtime/file.h"
#include "runtime/log.h"
#include "tests/unit/agent/scratch_tree.h"
#include "tests/unit/runtime/event_loop.h"

namespace gpuskew {
namespace {

std::optional<std::string> no_environment(std::string_view /*name*/) {
  return std::nullopt;
}

std::shared_ptr<const Snapshot> snapshot(const char* kernel) {
  Snapshot made;
  made.kernel = Fact<KernelRelease>::known(*KernelRelease::parse(kernel), "");
  return std::make_shared<const Snapshot>(std::move(made));
}

class LabelPublisherTest : public ::testing::Test {
 protected:
  LabelPublisherTest() {
    config_.publish = LabelWay::Nfd;
    config_.resync = std::chrono::milliseconds(100);
    config_.nfd_directory = tree_.path() / "features.d";
  }
  ~LabelPublisherTest() override { ::close(log_fd_); }

  void start() {
    publisher_.emplace(io_.get_executor(), log_, "gpu-1", config_, no_environment, [this] { ++states_; });
    asio::co_spawn(io_, publisher_->run(), [](const std::exception_ptr&, const Result<void>&) {});
  }
  bool has_file() const { return std::filesystem::exists(config_.nfd_directory / "gpuskew"); }
  bool file_says(const char* part) const {
    return read_file(config_.nfd_directory / "gpuskew").value_or("").find(part) != std::string::npos;
  }
  bool has_logged(const char* part) const {
    std::string text(static_cast<std::size_t>(::lseek(log_fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(log_fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text.find(part) != std::string::npos;
  }

  ScratchTree tree_;
  LabelConfig config_;
  int log_fd_ = ::memfd_create("log", MFD_CLOEXEC);
  Log log_{log_fd_, LogLevel::Info};
  asio::io_context io_{1};
  int states_ = 0;
  std::optional<LabelPublisher> publisher_;
};

TEST_F(LabelPublisherTest, PublishesWhatTheNewestSnapshotSays) {
  tree_.directory("/features.d");
  start();
  io_.poll();
  EXPECT_FALSE(has_file()) << "nothing is known yet";
  publisher_->offer(snapshot("5.15.0-119-generic"));
  run_until(io_, [this] { return file_says("gpuskew.io/kernel=5.15.0-119-generic\n"); });
  publisher_->offer(snapshot("5.15.0-122-generic"));
  run_until(io_, [this] { return file_says("gpuskew.io/kernel=5.15.0-122-generic\n"); });
  EXPECT_TRUE(file_says("gpuskew.io/state=unknown\n"));
  EXPECT_FALSE(file_says("feature.node.kubernetes.io")) << "a file tells no other owner";
  EXPECT_EQ(publisher_->state(), "2 labels published");
}

TEST_F(LabelPublisherTest, TellsOnceWhatIsLeftOutAndWhy) {
  tree_.directory("/features.d");
  start();
  publisher_->offer(snapshot("5.15.0-119-generic"));
  run_until(io_, [this] { return has_logged("labels are left out"); });
  EXPECT_TRUE(
      has_logged("gpuskew.io/driver-version, gpuskew.io/driver-branch, nvidia.com/cuda.driver*: unknown, "
                 "because not reported"));
}

TEST_F(LabelPublisherTest, PutsBackWhatSomebodyTook) {
  tree_.directory("/features.d");
  start();
  publisher_->offer(snapshot("5.15.0-119-generic"));
  run_until(io_, [this] { return has_file(); });
  tree_.remove("/features.d/gpuskew");
  run_until(io_, [this] { return has_file(); });
}

TEST_F(LabelPublisherTest, GoesOnTryingAndSaysWhy) {
  start();
  publisher_->offer(snapshot("5.15.0-119-generic"));
  run_until(io_, [this] { return has_logged("labels are not published, trying on"); });
  EXPECT_EQ(publisher_->state().rfind("labels not published: ", 0), 0U) << publisher_->state();
  tree_.directory("/features.d");
  run_until(io_, [this] { return has_file(); });
  EXPECT_TRUE(has_logged("labels are published again"));
  EXPECT_EQ(states_, 2);
}

TEST_F(LabelPublisherTest, BeginsAndEndsWithAReload) {
  tree_.directory("/features.d");
  const LabelConfig on = config_;
  config_.publish = LabelWay::None;
  start();
  publisher_->offer(snapshot("5.15.0-119-generic"));
  io_.poll();
  EXPECT_FALSE(has_file());
  publisher_->reconfigure(on);
  run_until(io_, [this] { return has_file(); });
  LabelConfig off = on;
  off.publish = LabelWay::None;
  publisher_->reconfigure(off);
  EXPECT_EQ(publisher_->state(), "");
  EXPECT_TRUE(has_file()) << "a label that is true is not taken back";
}

TEST_F(LabelPublisherTest, SaysThatThisIsNoPod) {
  config_.publish = LabelWay::Api;
  start();
  publisher_->offer(snapshot("5.15.0-119-generic"));
  run_until(io_, [this] { return has_logged("labels are not published, trying on"); });
  EXPECT_FALSE(check_labels(config_, no_environment));
}

TEST_F(LabelPublisherTest, ChecksWhatAWayNeedsWithoutChangingAnything) {
  EXPECT_EQ(check_labels(config_, no_environment).error().code, ErrorCode::NotFound);
  tree_.directory("/features.d");
  EXPECT_TRUE(check_labels(config_, no_environment));
  EXPECT_FALSE(has_file());
  EXPECT_TRUE(check_labels(LabelConfig{}, no_environment));
}

TEST_F(LabelPublisherTest, RunsNoExecPlugin) {
  tree_.write("/kubeconfig", R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}}}]
)");
  config_.kubeconfig = tree_.path() / "kubeconfig";
  const auto access = label_access(config_, no_environment);
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, ErrorCode::Unsupported);
  EXPECT_NE(access.error().what.find("the agent runs nothing"), std::string::npos) << access.error().what;
}

}  // namespace
}  // namespace gpuskew
