#include "runtime/kube/base64.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(Base64, GoesThereAndBack) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
                                  std::string("\0\xff\x80", 3), std::string(1000, '~')}) {
    EXPECT_EQ(base64_decode(base64_encode(text)), text);
  }
  EXPECT_EQ(base64_encode("admin:secret"), "YWRtaW46c2VjcmV0");
}

TEST(Base64, PassesOverLineEnds) {
  EXPECT_EQ(base64_decode("YWJj\nZGVm\r\n  Zw=="), "abcdefg");
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"a", "ab", "abc", "a===", "====", "ab=c", "YWJj-_==", "YQ==YQ==", "-----BEGIN", "YR=="}) {
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gpuskew
