#include "aggregator/cli/spelling.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

const std::vector<std::string> kWords = {"status", "nodes", "findings", "explain", "tag", "audit", "history"};

TEST(NearestWord, FindsSwappedMissingAndWrongLetters) {
  EXPECT_EQ(nearest_word("stauts", kWords), "status");
  EXPECT_EQ(nearest_word("explan", kWords), "explain");
  EXPECT_EQ(nearest_word("findigns", kWords), "findings");
  EXPECT_EQ(nearest_word("tga", kWords), "tag");
}

TEST(NearestWord, FindsABeginning) {
  EXPECT_EQ(nearest_word("hist", kWords), "history");
}

TEST(NearestWord, SaysNothingOfWhatIsFarFromAll) {
  EXPECT_EQ(nearest_word("kubectl", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("xyz", kWords), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(10'000, 'a'), kWords), std::nullopt);
}

}  // namespace
}  // namespace gpuskew
