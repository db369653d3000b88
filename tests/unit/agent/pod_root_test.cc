#include "agent/probes/pod_root.h"

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

TEST(PodRoot, IsToldByTheServiceAccountMount) {
  const ScratchTree tree;
  EXPECT_EQ(pod_root_error(tree.root()), std::nullopt);
  tree.directory("/run/secrets/kubernetes.io/serviceaccount");
  tree.link("/var/run", "/run");
  const auto error = pod_root_error(tree.root());
  ASSERT_TRUE(error);
  EXPECT_NE(error->what.find("--host-root"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
