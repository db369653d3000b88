#include "runtime/http_request.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

using Message = HttpRequestReader::Message;

/// The first request of `bytes`, or the status it is refused with.
tl::expected<Message, HttpRefusal> read_one(std::string_view bytes) {
  HttpRequestReader reader;
  if (const auto refusal = reader.read(bytes)) {
    return tl::unexpected(*refusal);
  }
  if (!reader.is_complete()) {
    return tl::unexpected(HttpRefusal{0, "not complete"});
  }
  return reader.take();
}

int status_of(std::string_view bytes) {
  const auto message = read_one(bytes);
  return message ? 200 : message.error().status;
}

TEST(HttpRequestReader, ReadsMethodPathQueryAndHeaders) {
  const auto message = read_one(
      "GET /api/v1/history/node%20a?limit=5&x=a+b%26c&limit=7&flag HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "
      "t\r\n\r\n");
  ASSERT_TRUE(message) << message.error().why;
  EXPECT_EQ(message->request.method, "GET");
  EXPECT_EQ(message->request.path, "/api/v1/history/node a");
  EXPECT_EQ(message->request.query, (std::map<std::string, std::string>{{"limit", "7"}, {"x", "a b&c"}, {"flag", ""}}));
  EXPECT_EQ(message->request.header("authorization"), "Bearer t");
  EXPECT_EQ(message->request.header("cookie"), std::nullopt);
  EXPECT_TRUE(message->keep_alive);
  EXPECT_FALSE(message->is_head);
}

TEST(HttpRequestReader, TreatsHeadAsGetWithoutABody) {
  const auto message = read_one("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(message);
  EXPECT_TRUE(message->is_head);
  EXPECT_EQ(message->request.method, "GET");
}

TEST(HttpRequestReader, KeepsOldAndClosingClientsNot) {
  EXPECT_FALSE(read_one("GET / HTTP/1.0\r\n\r\n")->keep_alive);
  EXPECT_FALSE(read_one("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")->keep_alive);
}

TEST(HttpRequestReader, AnswersAnUpgradeOfferAsAPlainRequest) {
  const auto message = read_one("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  ASSERT_TRUE(message) << message.error().why;
  EXPECT_EQ(message->request.path, "/");
}

TEST(HttpRequestReader, LeavesTheNextRequestForLater) {
  HttpRequestReader reader;
  std::string_view bytes = "POST /one HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /two HTTP/1.1\r\n\r\n";
  ASSERT_FALSE(reader.read(bytes));
  ASSERT_TRUE(reader.is_complete());
  EXPECT_EQ(reader.take()->request.path, "/one");
  EXPECT_EQ(bytes, "GET /two HTTP/1.1\r\n\r\n");
  ASSERT_FALSE(reader.read(bytes));
  EXPECT_EQ(reader.take()->request.path, "/two");
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(reader.is_idle());
}

TEST(HttpRequestReader, RefusesWhatIsOverALimit) {
  const std::string end = "\r\n\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(kMaxHttpUrlBytes, 'x') + " HTTP/1.1" + end), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: " + std::string(kMaxHttpHeadBytes, 'x') + end), 431);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + std::string(kMaxHttpHeadBytes + 1, 'x') + ": y" + end), 431);
  std::string many = "GET / HTTP/1.1";
  for (std::size_t header = 0; header <= kMaxHttpHeaders; ++header) {
    many += "\r\nX: y";
  }
  EXPECT_EQ(status_of(many + end), 431);
  const std::string announced = std::to_string(kMaxHttpBodyBytes + 1);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: " + announced + end), 413);
  std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n";
  chunked += std::string(0x10001, 'x') + "\r\n0\r\n\r\n";
  EXPECT_EQ(status_of(chunked), 413);
}

TEST(HttpRequestReader, RefusesWhatIsNoRequest) {
  for (const std::string_view bytes :
       {"\x16\x03\x01\x02\x01\x01", "hello\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n\r\n", "GET /?a=% HTTP/1.1\r\n\r\n", "GET nopath HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"}) {
    EXPECT_EQ(status_of(bytes), 400) << bytes;
  }
}

TEST(PercentDecode, TakesPlusAsABlankInQueriesOnly) {
  EXPECT_EQ(percent_decode("a+b%2B", true).value(), "a b+");
  EXPECT_EQ(percent_decode("a+b%2B", false).value(), "a+b+");
  EXPECT_FALSE(percent_decode("%4", false));
  EXPECT_FALSE(percent_decode("%-1", false));
}

RC_GTEST_PROP(HttpRequestReader, ReadsTheSameRequestHoweverTheBytesAreCut, ()) {
  const std::string bytes = "GET /a?b=c HTTP/1.1\r\nHost: h\r\nX-Long: value\r\n\r\n";
  const auto cut = *rc::gen::inRange<std::size_t>(1, bytes.size());
  HttpRequestReader reader;
  std::string_view first = std::string_view(bytes).substr(0, cut);
  std::string_view second = std::string_view(bytes).substr(cut);
  RC_ASSERT(!reader.read(first).has_value());
  RC_ASSERT(!reader.is_complete());
  RC_ASSERT(!reader.read(second).has_value());
  RC_ASSERT(reader.is_complete());
  const auto message = reader.take();
  RC_ASSERT(message.has_value());
  RC_ASSERT(message->request.header("x-long").value() == "value");
  RC_ASSERT(message->request.query.at("b") == "c");
}

RC_GTEST_PROP(HttpRequestReader, SurvivesArbitraryBytes, (const std::string& text)) {
  static_cast<void>(status_of(text));
  static_cast<void>(status_of("GET /" + text + " HTTP/1.1\r\n\r\n"));
  static_cast<void>(status_of("GET / HTTP/1.1\r\nX: " + text + "\r\n\r\n"));
}

}  // namespace
}  // namespace gpuskew
