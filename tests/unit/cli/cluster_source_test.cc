// What a cluster's command says of servers that are no Kubernetes API, or a broken one. What a real one answers is
// tested in tests/cluster.

#include "aggregator/cli/cluster_source.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/http_imposter.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

class ClusterSourceTest : public testing::Test {
 protected:
  Result<std::unique_ptr<ClusterSource>> open() const {
    const auto file = directory_.path() / "kubeconfig";
    std::ofstream(file)
        << "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster: {server: "
        << server_.url() << "}\nusers: []\ncontexts:\n- name: c\n  context: {cluster: c}\n";
    return ClusterSource::open(ClusterOptions{file.string(), true, "", ""}, ClusterFleet({}, std::nullopt));
  }

  Error error_of(const Question& question) const {
    const auto source = open();
    if (!source) {
      return source.error();
    }
    const auto answer = (*source)->get(question);
    return answer ? Error{ErrorCode::Internal, "answered: " + answer->dump()} : answer.error();
  }

  /// The error of a question whose every request is answered with these bytes.
  Error error_of_bytes(const Question& question, const std::string& bytes) {
    for (const char* target : {"/api/v1/nodes?limit=500", "/api/v1/nodes/n1"}) {
      server_.answer_with_bytes(target, bytes);
    }
    return error_of(question);
  }

  TemporaryDirectory directory_;
  HttpImposter server_;
};

void expect_told(const Error& error, const std::string& server) {
  EXPECT_NE(error.what.find(server), std::string::npos) << error.what;
  EXPECT_EQ(error.what.find("answered: "), std::string::npos) << error.what;
  EXPECT_EQ(error.what.find('\n'), std::string::npos) << error.what;
}

TEST_F(ClusterSourceTest, AServerOfAnotherKindIsToldAsThat) {
  const std::string page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>";
  expect_told(error_of_bytes(Topic::Nodes, page), server_.url());
  expect_told(error_of_bytes(Question(Topic::Node, "n1"), page), server_.url());
}

TEST_F(ClusterSourceTest, APageThatIsNotThereIsNoNodeThatIsNotThere) {
  const Error error = error_of(Question(Topic::Node, "n1"));
  expect_told(error, server_.url());
  EXPECT_EQ(error.what.find("no node n1"), std::string::npos) << error.what;
  for (const std::string body : {R"({"kind":5})", "[]", "null"}) {
    const Error odd =
        error_of_bytes(Question(Topic::Node, "n1"),
                       "HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    expect_told(odd, server_.url());
    EXPECT_EQ(odd.what.find("no node n1"), std::string::npos) << odd.what;
  }
}

TEST_F(ClusterSourceTest, AnotherObjectThanTheNodeIsRefused) {
  for (const std::string body : {R"({"kind":"Node","metadata":{"name":"n2"}})", R"({"kind":"NodeList","items":[]})"}) {
    server_.answer("/api/v1/nodes/n1", body);
    const Error error = error_of(Question(Topic::Node, "n1"));
    expect_told(error, server_.url());
    EXPECT_NE(error.what.find("is it a Kubernetes API server?"), std::string::npos) << error.what;
  }
}

TEST_F(ClusterSourceTest, BrokenBytesAreAnError) {
  for (const std::string bytes :
       {"", "\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"k",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{]"}) {
    expect_told(error_of_bytes(Topic::Nodes, bytes), server_.url());
  }
}

TEST_F(ClusterSourceTest, ANodeWithoutANameIsAnError) {
  const std::string list =
      R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{}}]})";
  server_.answer("/api/v1/nodes?limit=500", list);
  expect_told(error_of(Topic::Nodes), server_.url());
}

TEST_F(ClusterSourceTest, HistoryAsksNobody) {
  EXPECT_EQ(error_of(Question(Topic::History, "n1")).code, ErrorCode::Unsupported);
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace gpuskew
