#include "runtime/http_reply_reader.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

struct Read {
  Result<void> result;
  std::string body;
};

/// In pieces of `step` bytes.
Read read_all(HttpReplyReader& reader, std::string_view text, std::size_t step) {
  Read read;
  while (!text.empty() && read.result && !reader.is_complete()) {
    std::string_view piece = text.substr(0, step);
    const std::size_t size = piece.size();
    read.result = reader.read(piece);
    text.remove_prefix(size - piece.size());
    read.body += reader.take_body();
  }
  return read;
}

TEST(HttpReplyReader, ReadsAnAnswerWhereverItIsCut) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    HttpReplyReader reader;
    const Read read = read_all(reader, text, step);
    ASSERT_TRUE(read.result) << step;
    EXPECT_TRUE(reader.is_complete());
    EXPECT_TRUE(reader.keeps_alive());
    EXPECT_EQ(read.body, "hello!");
    EXPECT_EQ(reader.head().status, 200U);
    EXPECT_EQ(reader.head().header("content-TYPE"), "text/plain");
    EXPECT_EQ(reader.head().header("Content"), std::nullopt);
  }
}

TEST(HttpReplyReader, LeavesWhatIsBehindTheAnswer) {
  HttpReplyReader reader;
  std::string_view text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 ";
  ASSERT_TRUE(reader.read(text));
  EXPECT_EQ(text, "HTTP/1.1 ");
  EXPECT_EQ(reader.take_body(), "ok");
}

TEST(HttpReplyReader, PassesOverInterimAnswers) {
  HttpReplyReader reader;
  const Read read =
      read_all(reader, "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", 7);
  ASSERT_TRUE(read.result);
  EXPECT_EQ(reader.head().status, 201U);
  EXPECT_EQ(reader.head().header("X"), std::nullopt);
  EXPECT_EQ(read.body, "ok");
}

TEST(HttpReplyReader, TakesTheEndOfTheConnectionForTheBodysWhereNothingElseSaysIt) {
  HttpReplyReader reader;
  std::string_view text = "HTTP/1.0 200 OK\r\n\r\nhello";
  ASSERT_TRUE(reader.read(text));
  EXPECT_FALSE(reader.is_complete());
  ASSERT_TRUE(reader.read_end());
  EXPECT_TRUE(reader.is_complete());
  EXPECT_FALSE(reader.keeps_alive());
}

TEST(HttpReplyReader, SaysThatAnAnswerWasCut) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf"}) {
    HttpReplyReader reader;
    std::string_view bytes = text;
    ASSERT_TRUE(reader.read(bytes));
    const auto end = reader.read_end();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error(), (Error{ErrorCode::Unreachable, "the connection was cut before the answer ended"}));
  }
  HttpReplyReader reader;
  EXPECT_EQ(reader.read_end().error().what, "the connection was closed without an answer");
}

TEST(HttpReplyReader, RefusesWhatIsNoHttp) {
  HttpReplyReader reader;
  std::string_view text = "SSH-2.0-OpenSSH_9.2p1\r\n";
  EXPECT_EQ(reader.read(text).error().code, ErrorCode::Malformed);
}

TEST(HttpReplyReader, LimitsTheHead) {
  HttpReplyReader endless;
  Read read = read_all(endless, "HTTP/1.1 200 OK\r\nX: " + std::string(kMaxHttpReplyHeadBytes, 'x'), 4096);
  EXPECT_EQ(read.result.error().code, ErrorCode::TooLarge);
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (std::size_t header = 0; header <= kMaxHttpReplyHeaders; ++header) {
    many += "a: b\r\n";
  }
  HttpReplyReader crowded;
  EXPECT_EQ(read_all(crowded, many, 4096).result.error().what, "the answer has more than 128 headers");
}

TEST(HttpReplyReader, ExpectsNoBodyWhereNoneWasAskedFor) {
  HttpReplyReader reader;
  reader.begin(true);
  std::string_view text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
  ASSERT_TRUE(reader.read(text));
  EXPECT_TRUE(reader.is_complete());
}

}  // namespace
}  // namespace gpuskew
