#include "runtime/kube/path.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(KubePath, EscapesEverythingThatIsNotPlain) {
  EXPECT_EQ(query_escaped("node-1.a_b~C"), "node-1.a_b~C");
  EXPECT_EQ(query_escaped("gpu-node_1.example~"), "gpu-node_1.example~");
  EXPECT_EQ(query_escaped("a/b?c#d e%\xff"), "a%2Fb%3Fc%23d%20e%25%FF");
  EXPECT_EQ(query_escaped("a/b c&d=e+f%\xc3\xa9"), "a%2Fb%20c%26d%3De%2Bf%25%C3%A9");
}

TEST(KubePath, AddsToAQuery) {
  EXPECT_EQ(with_query("/api/v1/nodes", "limit=5"), "/api/v1/nodes?limit=5");
  EXPECT_EQ(with_query("/api/v1/nodes?labelSelector=a", "limit=5"), "/api/v1/nodes?labelSelector=a&limit=5");
}

}  // namespace
}  // namespace gpuskew
