#include "runtime/token_file.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

class TokenFile : public testing::Test {
 protected:
  Result<std::string> load(const std::string& content) const {
    const std::filesystem::path file = directory_.path() / "token";
    std::ofstream(file) << content;
    return load_token(file);
  }

  TemporaryDirectory directory_;
};

TEST_F(TokenFile, IsReadWithoutTheBlanksAroundTheToken) {
  EXPECT_EQ(load(std::string("\n ") + kToken + "\r\n").value(), kToken);
}

TEST_F(TokenFile, TokensThatAreShortOrNoWordAreRefused) {
  for (const char* content : {"", "short", "two words that are long enough", "0123456789abcdef\xc3\xa9"}) {
    const Result<std::string> token = load(content);
    ASSERT_FALSE(token) << content;
    EXPECT_EQ(token.error().code, ErrorCode::Malformed);
  }
  EXPECT_EQ(load_token(directory_.path() / "none").error().code, ErrorCode::NotFound);
}

TEST_F(TokenFile, ALongOneIsRefusedAndNotShown) {
  const Result<std::string> token = load(std::string(kMaxTokenBytes + 1, 't'));
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(token.error().what.find("tttt"), std::string::npos);
  EXPECT_EQ(load("two words that are long enough").error().what.find("words that"), std::string::npos);
  EXPECT_TRUE(load(std::string(kMaxTokenBytes, 't')));
}

}  // namespace
}  // namespace gpuskew
