#include "aggregator/cli/api_client.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/http_imposter.h"

namespace gpuskew {
namespace {

class ApiClientTest : public testing::Test {
 protected:
  ApiClientTest() {
    std::string name = (std::filesystem::temp_directory_path() / "gpuskew-cli-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    directory_ = name;
  }
  ~ApiClientTest() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& content) const {
    const std::string path = directory_ / "token";
    std::ofstream(path) << content;
    return path;
  }

  Result<nlohmann::ordered_json> get(const std::string& path, const std::string& token_file = "") const {
    return get_from(server_.url(), path, token_file);
  }

  static Result<nlohmann::ordered_json> get_from(const std::string& url, const std::string& path,
                                                 const std::string& token_file = "") {
    ServerOptions options;
    options.url = url;
    options.token_file = token_file;
    Result<ApiClient> client = ApiClient::open(options);
    if (!client) {
      return tl::unexpected(client.error());
    }
    return client->get(path);
  }

  std::filesystem::path directory_;
  HttpImposter server_;
};

TEST_F(ApiClientTest, GivesTheReplyInTheServersOrder) {
  server_.answer("/api/v1/status", R"({"z":1,"a":"8.10"})");
  const auto reply = get("/api/v1/status");
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->dump(), R"({"z":1,"a":"8.10"})");
}

TEST_F(ApiClientTest, SaysWhoItIs) {
  server_.answer("/x", "{}");
  ASSERT_TRUE(get("/x"));
  const std::string head = server_.requests().front();
  EXPECT_NE(head.find("User-Agent: gpuskew/" GPUSKEW_VERSION "\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("Accept: application/json\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Authorization"), std::string::npos) << head;
}

TEST_F(ApiClientTest, SendsTheToken) {
  server_.answer("/x", "{}");
  ASSERT_TRUE(get("/x", file("s3cret\n")));
  EXPECT_NE(server_.requests().front().find("\r\nAuthorization: Bearer s3cret\r\n"), std::string::npos);
}

TEST_F(ApiClientTest, RefusesATokenThatIsNone) {
  for (const std::string& content : {std::string(), std::string("\n"), std::string("a b"),
                                     std::string("a\r\nX-Evil: 1"), std::string("\xff"), std::string(20'000, 'a')}) {
    const auto reply = get("/x", file(content));
    ASSERT_FALSE(reply);
    EXPECT_NE(reply.error().what.find(directory_.string()), std::string::npos) << reply.error().what;
    EXPECT_EQ(reply.error().what.find("Evil"), std::string::npos);
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(ApiClientTest, NeverSendsATokenUnencryptedToAnotherMachine) {
  const auto reply = get_from("http://fleet.example:7480", "/x", file("s3cret"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Denied);
  EXPECT_NE(reply.error().what.find("https://"), std::string::npos);
}

TEST_F(ApiClientTest, NamesAFileItCanNotRead) {
  for (const auto& member : {&ServerOptions::ca, &ServerOptions::token_file}) {
    ServerOptions options;
    options.*member = "/nowhere/file";
    const auto client = ApiClient::open(options);
    ASSERT_FALSE(client);
    EXPECT_NE(client.error().what.find("/nowhere/file: No such file"), std::string::npos) << client.error().what;
  }
}

TEST_F(ApiClientTest, WantsCertificateAndKeyTogether) {
  ServerOptions options;
  options.key = "/k";
  EXPECT_NE(ApiClient::open(options).error().what.find("--cert"), std::string::npos);
}

TEST_F(ApiClientTest, SaysWhenNobodyListens) {
  std::string url;
  {
    const HttpImposter gone;
    url = gone.url();
  }
  const auto reply = get_from(url, "/x");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unreachable);
  EXPECT_NE(reply.error().what.find("could not reach " + url + ": connection refused"), std::string::npos)
      << reply.error().what;
}

TEST_F(ApiClientTest, ShowsNoPasswordOfTheUrl) {
  const auto reply = get_from("http://oncall:hunter2@127.0.0.1:" + server_.port(), "/nothing");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().what.find("hunter2"), std::string::npos) << reply.error().what;
}

TEST_F(ApiClientTest, TellsAReplyThatIsNoJson) {
  for (const std::string body : {"", "<html>hello</html>", "{\"a\":", "\xff", "{} {}"}) {
    server_.answer("/x", body);
    const auto reply = get("/x");
    ASSERT_FALSE(reply) << body;
    EXPECT_EQ(reply.error().code, ErrorCode::Malformed);
    EXPECT_NE(reply.error().what.find("not JSON"), std::string::npos);
  }
}

TEST_F(ApiClientTest, RefusesAReplyThatNestsTooDeep) {
  server_.answer("/x", std::string(100'000, '['));
  EXPECT_EQ(get("/x").error().code, ErrorCode::Malformed);
  server_.answer("/y", std::string(1000, '[') + std::string(1000, ']'));
  EXPECT_EQ(get("/y").error().code, ErrorCode::Malformed);
}

TEST_F(ApiClientTest, RefusesAReplyAnnouncedTooLarge) {
  server_.answer_with_bytes("/x", "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n{");
  EXPECT_EQ(get("/x").error().code, ErrorCode::TooLarge);
}

TEST_F(ApiClientTest, TellsAReplyThatBreaksOff) {
  server_.answer_with_bytes("/x", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_FALSE(get("/x"));
  server_.answer_with_bytes("/y", "");
  const auto nothing = get("/y");
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().what.find("https://"), std::string::npos) << nothing.error().what;
  server_.answer_with_bytes("/z", "SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_FALSE(get("/z"));
}

TEST_F(ApiClientTest, FollowsNoRedirect) {
  const HttpImposter other;
  server_.answer_with_bytes(
      "/x", "HTTP/1.1 302 Found\r\nLocation: " + other.url() + "/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  const auto reply = get("/x", file("s3cret"));
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().what.find("--server"), std::string::npos) << reply.error().what;
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(ApiClientTest, KeepsThePathAsItIs) {
  server_.answer("/api/v1/nodes/a%2Fb", "{}");
  server_.answer("/api/v1/nodes/../x", "{}");
  EXPECT_TRUE(get("/api/v1/nodes/a%2Fb"));
  EXPECT_TRUE(get("/api/v1/nodes/../x"));
}

TEST_F(ApiClientTest, AsksBeneathThePathOfTheServersUrl) {
  server_.answer("/fleet/api/v1/status", "{}");
  EXPECT_TRUE(get_from(server_.url() + "/fleet/", "/api/v1/status"));
}

}  // namespace
}  // namespace gpuskew
