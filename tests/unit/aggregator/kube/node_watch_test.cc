#include "aggregator/kube/node_watch.h"

#include <asio/io_context.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

/// A watch that was told of nodes by writes alone: what the server says is held by tests/cluster.
class NodeWatchTest : public testing::Test {
 protected:
  NodeWatchTest() {
    KubeAccess access;
    access.server = "http://127.0.0.1:1";
    client_ = KubeClient::open(io_.get_executor(), std::move(access)).value();
    watch_.emplace(*client_, captured_.log());
  }

  void take(const std::string& version, const std::string& kernel) {
    nlohmann::json node;
    node["metadata"]["name"] = "gpu-1";
    node["metadata"]["resourceVersion"] = version;
    node["status"]["nodeInfo"]["kernelVersion"] = kernel;
    watch_->take(node);
  }
  const std::string& kernel() const { return watch_->nodes().at("gpu-1").info.kernel_version; }

  asio::io_context io_;
  CapturedLog captured_;
  std::unique_ptr<KubeClient> client_;
  std::optional<NodeWatch> watch_;
};

TEST_F(NodeWatchTest, IsNotWholeBeforeTheNodesWereListed) {
  EXPECT_FALSE(watch_->is_whole());
  EXPECT_TRUE(watch_->nodes().empty());
}

TEST_F(NodeWatchTest, WhatComesLateDoesNotUndoWhatIsNewer) {
  take("9", "5.15.0-122-generic");
  take("10", "5.15.0-123-generic");
  take("9", "5.15.0-122-generic");
  EXPECT_EQ(kernel(), "5.15.0-123-generic");
}

TEST_F(NodeWatchTest, AHeartbeatIsNoChange) {
  take("9", "5.15.0-122-generic");
  const std::uint64_t before = watch_->changes();
  take("10", "5.15.0-122-generic");
  EXPECT_EQ(watch_->changes(), before);
  take("11", "5.15.0-123-generic");
  EXPECT_GT(watch_->changes(), before);
}

TEST_F(NodeWatchTest, ANodeThatCanNotBeReadIsPassedOver) {
  watch_->take(nlohmann::json::parse(R"({"metadata": {}})"));
  EXPECT_TRUE(watch_->nodes().empty());
  EXPECT_EQ(captured_.count("a node of the cluster can not be read"), 1U) << captured_.text();
}

}  // namespace
}  // namespace gpuskew
