#include "aggregator/stored_text.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(StoredText, OpenFindingsComeBackAsTheyWere) {
  const std::map<FindingCode, Time> open = {{FindingCode::DriverNotLoaded, from_unix_ms(5)},
                                            {FindingCode::AgentSilent, from_unix_ms(1'796'054'737'123)}};
  EXPECT_EQ(open_since_from(open_since_text(open)).value(), open);
  EXPECT_TRUE(open_since_from(open_since_text({})).value().empty());
}

TEST(StoredText, ACodeOfALaterVersionIsLeftOut) {
  const auto open = open_since_from(R"({"a-code-of-later":1,"driver-not-loaded":2})");
  ASSERT_TRUE(open);
  EXPECT_EQ(*open, (std::map<FindingCode, Time>{{FindingCode::DriverNotLoaded, from_unix_ms(2)}}));
}

TEST(StoredText, AnythingElseIsMalformed) {
  for (const char* text : {"", "[]", "{", R"({"driver-not-loaded":"today"})"}) {
    EXPECT_FALSE(open_since_from(text)) << text;
  }
}

}  // namespace
}  // namespace gpuskew
