#include "agent/sealed_text.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

TEST(SealedTextTest, SaysWhatDoesNotFit) {
  const std::string text = sealed("thing", "1", "body");
  EXPECT_EQ(text.find("gpuskew-thing 1 4 "), 0u);
  EXPECT_EQ(unsealed(text, "other", "1").error().what, "it is not a other file of gpuskew-agent");
  EXPECT_EQ(unsealed(text, "thing", "2").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(unsealed(text + "x", "thing", "1").error().what, "its checksum or length does not match");
  EXPECT_FALSE(unsealed("", "thing", "1"));
}

RC_GTEST_PROP(SealedTextProperty, GivesTheBodyBack, (const std::string& body)) {
  const std::string text = sealed("thing", "1", body);
  const auto opened = unsealed(text, "thing", "1");
  RC_ASSERT(opened);
  RC_ASSERT(*opened == body);
}

}  // namespace
}  // namespace gpuskew
