#include "aggregator/process_figures.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(ProcessFigures, ThisProcessTakesSomeMemory) {
  const std::optional<std::uint64_t> bytes = resident_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, std::uint64_t{1} << 20);
  EXPECT_LT(*bytes, std::uint64_t{1} << 40);
}

}  // namespace
}  // namespace gpuskew
