#include "agent/resident_memory.h"

#include <fstream>
#include <regex>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

// Pages the process has mapped and present, of files and not.
long resident_pages() {
  long total = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST(ResidentMemoryTest, GivesPagesBackAndTheProgramGoesOn) {
  limit_heaps();
  const std::regex pattern("(a|b)+c");  // code that is not needed again
  ASSERT_TRUE(std::regex_match("abac", pattern));
  const long before = resident_pages();
  release_unused_memory();
  EXPECT_LT(resident_pages(), before);
  EXPECT_TRUE(std::regex_match("bbc", pattern));
  EXPECT_THROW(std::regex("("), std::regex_error);
}

}  // namespace
}  // namespace gpuskew
