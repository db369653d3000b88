#include "aggregator/cli/aggregator_url.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(AggregatorUrl, KeepsHostPortAndPath) {
  const auto url = AggregatorUrl::parse("https://fleet.example:7480/gpuskew/");
  ASSERT_TRUE(url) << url.error().what;
  EXPECT_EQ(url->base, "https://fleet.example:7480/gpuskew");
  EXPECT_EQ(url->shown, "https://fleet.example:7480/gpuskew");
  EXPECT_EQ(url->host, "fleet.example");
  EXPECT_TRUE(url->encrypted);
  EXPECT_FALSE(url->loopback);
}

TEST(AggregatorUrl, ShowsNoCredentials) {
  const auto url = AggregatorUrl::parse("http://oncall:hunter2@127.0.0.1:7480");
  ASSERT_TRUE(url) << url.error().what;
  EXPECT_EQ(url->shown, "http://127.0.0.1:7480");
  EXPECT_NE(url->base.find("hunter2"), std::string::npos);
}

TEST(AggregatorUrl, KnowsThisMachinesLoopback) {
  for (const char* text : {"http://127.0.0.1:1", "http://127.3.2.1", "http://localhost:1", "http://[::1]:1"}) {
    EXPECT_TRUE(AggregatorUrl::parse(text).value().loopback) << text;
  }
  for (const char* text : {"http://127.evil.example", "http://10.0.0.1", "http://localhost.example"}) {
    EXPECT_FALSE(AggregatorUrl::parse(text).value().loopback) << text;
  }
}

TEST(AggregatorUrl, RefusesWhatIsNoWebAddress) {
  for (const char* text : {"", "127.0.0.1:7480", "fleet.example", "ftp://x", "file:///etc/passwd", "http://",
                           "http://h?token=1", "http://h#x", "http://h ost", "http://h:99999999"}) {
    const auto url = AggregatorUrl::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::Malformed);
  }
}

TEST(AggregatorUrl, NamesTheTextItRefuses) {
  EXPECT_NE(AggregatorUrl::parse("ftp://x").error().what.find("ftp://x"), std::string::npos);
}

TEST(AggregatorUrl, RepeatsNoSecretInAnError) {
  for (const char* text : {"oncall:hunter2@host", "ftp://oncall:hunter2@host", "http://host?token=hunter2"}) {
    const auto url = AggregatorUrl::parse(text);
    ASSERT_FALSE(url);
    EXPECT_EQ(url.error().what.find("hunter2"), std::string::npos) << url.error().what;
  }
}

TEST(AggregatorUrl, RefusesAnEndlessText) {
  EXPECT_EQ(AggregatorUrl::parse("http://" + std::string(5000, 'a')).error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace gpuskew
