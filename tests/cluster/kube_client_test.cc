// Against a real API server: KUBECONFIG is its administrator's.

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/kube/access.h"
#include "runtime/kube/client.h"
#include "tests/unit/runtime/event_loop.h"

namespace gpuskew {
namespace {

class KubeClientOnCluster : public testing::Test {
 protected:
  void SetUp() override {
    const char* const path = std::getenv("KUBECONFIG");
    ASSERT_NE(path, nullptr) << "KUBECONFIG names the cluster to test against";
    auto access = kubeconfig_access(kubeconfig_files(path, ""));
    ASSERT_TRUE(access) << access.error().what;
    auto client = KubeClient::open(io_.get_executor(), *access);
    ASSERT_TRUE(client) << client.error().what;
    client_ = std::move(*client);
  }

  asio::io_context io_;
  std::unique_ptr<KubeClient> client_;
};

TEST_F(KubeClientOnCluster, GetsTheServersVersion) {
  const auto version = run_to_end(io_, client_->get("/version"));
  ASSERT_TRUE(version) << version.error().what;
  EXPECT_EQ(version->at("major"), "1");
}

TEST_F(KubeClientOnCluster, ListsInPages) {
  KubeListRequest request("/api/v1/namespaces");
  request.page_size = 1;
  std::vector<std::string> names;
  const auto listed = run_to_end(
      io_, client_->list(
               request, [&names](nlohmann::json&& item) { names.push_back(item["metadata"]["name"]); }, [] {}));
  ASSERT_TRUE(listed) << listed.error().what;
  EXPECT_EQ(listed->items, names.size());
  EXPECT_EQ(listed->pages, names.size());
  EXPECT_GE(names.size(), 3U);
}

}  // namespace
}  // namespace gpuskew
