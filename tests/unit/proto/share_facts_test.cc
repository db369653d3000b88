#include <gtest/gtest.h>

#include "proto/convert.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

std::optional<std::uint64_t> own_hash(int field) {
  return static_cast<std::uint64_t>(field);
}

TEST(ShareFacts, WhatIsTheSameOnManyNodesIsKeptOnce) {
  FactPool pool;
  Snapshot first = sample_snapshot();
  Snapshot second = sample_snapshot();
  share_facts(first, own_hash, pool);
  share_facts(second, own_hash, pool);
  EXPECT_EQ(&first.kernels.value(), &second.kernels.value());
  EXPECT_EQ(&first.installs.value(), &second.installs.value());
  EXPECT_EQ(&first.os.value(), &second.os.value());
  EXPECT_TRUE(first.same_facts(sample_snapshot()));
  EXPECT_TRUE(second.same_facts(sample_snapshot()));
}

TEST(ShareFacts, WhatIsEachNodesOwnIsLeftAlone) {
  FactPool pool;
  Snapshot first = sample_snapshot();
  Snapshot second = sample_snapshot();
  share_facts(first, own_hash, pool);
  share_facts(second, own_hash, pool);
  EXPECT_NE(&first.boot_id.value(), &second.boot_id.value());
  EXPECT_NE(&first.holders.value(), &second.holders.value());
  EXPECT_NE(&first.kernel_log.value(), &second.kernel_log.value());
}

TEST(ShareFacts, AFieldWithoutAHashIsLeftAlone) {
  FactPool pool;
  Snapshot snapshot = sample_snapshot();
  share_facts(
      snapshot, [](int) { return std::nullopt; }, pool);
  EXPECT_EQ(pool.size(), 0u);
}

}  // namespace
}  // namespace gpuskew
