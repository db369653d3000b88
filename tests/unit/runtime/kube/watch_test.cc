#include "runtime/kube/watch.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/kube/scripted_server.h"

namespace gpuskew {
namespace {

const std::string kStream = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string list_reply(const std::string& names, const std::string& version) {
  std::string items;
  for (const char name : names) {
    items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"name":")" + name + R"("}})";
  }
  return http_reply("200 OK", R"({"metadata":{"resourceVersion":")" + version + R"("},"items":[)" + items + "]}");
}

std::string event(const std::string& type, const std::string& name, const std::string& version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name + R"(","resourceVersion":")" + version +
         "\"}}}\n";
}

const std::string kGone =
    R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}})"
    "\n";

class KubeWatchTest : public testing::Test {
 protected:
  /// Runs a watch against this server until `seen` is what happened.
  void expect(std::vector<ConnectionScript> script, const std::string& seen, KubeWatchOptions options = {}) {
    const ScriptedServer server(io_, std::move(script));
    KubeClientOptions client_options;
    client_options.restart_patience = std::chrono::milliseconds(1);
    const auto client = KubeClient::open(io_.get_executor(), server.access(), client_options);
    ASSERT_TRUE(client);
    KubeWatchEvents events;
    events.list_began = [this] { seen_ += "["; };
    events.list_ended = [this] { seen_ += "]"; };
    events.changed = [this](nlohmann::json&& item) { seen_ += "+" + item["metadata"]["name"].get<std::string>(); };
    events.deleted = [this](nlohmann::json&& item) { seen_ += "-" + item["metadata"]["name"].get<std::string>(); };
    events.troubled = [this](const Error& error) { seen_ += "(" + std::string(to_string(error.code)) + ")"; };
    events.recovered = [this] { seen_ += "(ok)"; };
    KubeWatch watch(**client, KubeListRequest("/api/v1/nodes"), events, options);
    spawn(io_, watch.run());
    run_until(io_, [this, &seen] { return seen_.size() >= seen.size(); });
    EXPECT_EQ(seen_, seen);
    requests_ = server.requests();
  }
  std::string query(std::size_t request) const {
    const std::string& text = requests_.at(request);
    const std::size_t begin = text.find('?') + 1;
    return text.substr(begin, text.find(' ', begin) - begin);
  }

  asio::io_context io_;
  std::string seen_;
  std::vector<std::string> requests_;
};

TEST_F(KubeWatchTest, ListsAndThenTellsWhatChanges) {
  expect({{list_reply("ab", "7")},
          {kStream + chunk(event("ADDED", "c", "8") + event("MODIFIED", "a", "9").substr(0, 20)) +
               chunk(event("MODIFIED", "a", "9").substr(20) + event("DELETED", "b", "10")),
           kSilence}},
         "[+a+b]+c+a-b");
  EXPECT_EQ(query(0), "limit=500");
  EXPECT_EQ(query(1).find("watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds="), 0U);
}

TEST_F(KubeWatchTest, GoesOnWhereItWasCutAndTakesNoHalfLine) {
  expect({{list_reply("a", "7")},
          {kStream + chunk(event("BOOKMARK", "", "15") + event("ADDED", "x", "16").substr(0, 60))},
          {kStream + chunk(event("ADDED", "x", "16")), kSilence}},
         "[+a]+x");
  EXPECT_NE(query(2).find("resourceVersion=15&"), std::string::npos);
}

TEST_F(KubeWatchTest, TakesTheServersEndOfAWatchForNoTrouble) {
  expect({{list_reply("a", "7")},
          {kStream + chunk(event("ADDED", "b", "8")) + "0\r\n\r\n"},
          {kStream + chunk(event("ADDED", "c", "9")), kSilence}},
         "[+a]+b+c");
  EXPECT_NE(query(2).find("resourceVersion=8&"), std::string::npos);
}

TEST_F(KubeWatchTest, ListsAnewWhenItsPlaceIsForgotten) {
  expect({{list_reply("a", "7")},
          {kStream + chunk(kGone)},
          {list_reply("b", "20")},
          {http_reply("410 Gone", R"({"kind":"Status","code":410})")},
          {list_reply("c", "30")},
          {kStream + chunk(event("ADDED", "d", "31")), kSilence}},
         "[+a][+b][+c]+d");
}

TEST_F(KubeWatchTest, TellsTroubleOnceAndItsEnd) {
  const std::string forbidden = http_reply("403 Forbidden", R"({"kind":"Status","message":"no"})");
  expect({{list_reply("a", "7")}, {forbidden}, {forbidden}, {kStream + chunk(event("ADDED", "b", "8")), kSilence}},
         "[+a](denied)(ok)+b");
}

TEST_F(KubeWatchTest, AsksAgainForAKindThatIsNotThere) {
  KubeWatchOptions options;
  options.missing_resource_wait = std::chrono::milliseconds(20);
  const std::string missing = http_reply("404 Not Found", R"({"kind":"Status","message":"no such resource"})");
  expect({{missing}, {missing}, {list_reply("a", "7")}, {kStream, kSilence}}, "[(not-found)[[+a](ok)", options);
}

TEST_F(KubeWatchTest, ListsAnewAfterALineThatIsNone) {
  expect({{list_reply("a", "7")},
          {kStream + chunk("{\"type\":\"ADDED\",\"object\":{garbage}}\n")},
          {list_reply("b", "8")},
          {kStream, kSilence}},
         "[+a](malformed)[+b](ok)");
}

TEST_F(KubeWatchTest, LeavesAServerThatHasFallenSilent) {
  KubeWatchOptions options;
  options.timeout = std::chrono::milliseconds(50);
  options.grace = std::chrono::milliseconds(50);
  expect({{list_reply("a", "7")}, {kStream, kSilence}, {kStream + chunk(event("ADDED", "b", "8")), kSilence}},
         "[+a](timeout)(ok)+b", options);
}

}  // namespace
}  // namespace gpuskew
