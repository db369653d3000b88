#include "runtime/kube/client.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/kube/scripted_server.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

std::string status_reply(const std::string& status, const std::string& message, const std::string& more = "") {
  return http_reply(status, R"({"kind":"Status","message":")" + message + "\"" + more + "}");
}

std::string page(const std::string& items, const std::string& token, const std::string& version = "7") {
  return http_reply("200 OK", R"({"kind":"NodeList","metadata":{"resourceVersion":")" + version + R"(","continue":")" +
                                  token + R"("},"items":[)" + items + "]}");
}

class KubeClientTest : public testing::Test {
 protected:
  std::unique_ptr<KubeClient> client_of(const ScriptedServer& server, KubeClientOptions options = {}) {
    auto client = KubeClient::open(io_.get_executor(), server.access(), std::move(options));
    EXPECT_TRUE(client) << client.error().what;
    return std::move(*client);
  }
  Result<nlohmann::json> get(KubeClient& client, const std::string& path = "/version") {
    return run_to_end(io_, client.get(path));
  }
  Result<KubeListResult> list(KubeClient& client, bool is_consistent = false) {
    items_.clear();
    KubeListRequest request("/api/v1/nodes");
    request.is_consistent = is_consistent;
    return run_to_end(
        io_, client.list(
                 request, [this](nlohmann::json&& item) { items_ += item.dump(); }, [this] { items_ += "restarted"; }));
  }

  asio::io_context io_;
  std::string items_;
};

TEST_F(KubeClientTest, KeepsItsConnection) {
  const ScriptedServer server(io_, {{http_reply("200 OK", R"({"a":1})"), http_reply("200 OK", R"({"a":2})")}});
  const auto client = client_of(server);
  EXPECT_EQ(get(*client)->dump(), R"({"a":1})");
  EXPECT_EQ(get(*client)->dump(), R"({"a":2})");
  EXPECT_EQ(server.requests().front().find("GET /version HTTP/1.1\r\nHost: 127.0.0.1:"), 0U);
}

TEST_F(KubeClientTest, AsksAgainOnANewConnectionWhenTheServerWentAway) {
  const std::string cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"half\":";
  const ScriptedServer server(io_, {{http_reply("200 OK", R"({"a":1})")}, {cut}, {}, {http_reply("200 OK", "{}")}});
  const auto client = client_of(server);
  ASSERT_TRUE(get(*client));
  EXPECT_EQ(get(*client)->dump(), "{}");
}

TEST_F(KubeClientTest, SaysThatNobodyAnswersAtOnceWhenNobodyEverDid) {
  std::string url;
  {
    const ScriptedServer server(io_, {});
    url = server.url();
  }
  KubeAccess access;
  access.server = url;
  access.source = "test";
  const auto client = KubeClient::open(io_.get_executor(), access);
  const auto began = Clock::now();
  const auto reply = get(**client);
  EXPECT_EQ(reply.error().code, ErrorCode::Unreachable);
  EXPECT_NE(reply.error().what.find("connection refused; check that it runs"), std::string::npos) << reply.error().what;
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(5));
}

TEST_F(KubeClientTest, DoesNotSendAPostTwice) {
  const ScriptedServer server(io_, {{http_reply("200 OK", "{}")}, {"HTTP/1.1 2"}, {http_reply("201 Created", "{}")}});
  const auto client = client_of(server);
  ASSERT_TRUE(get(*client));
  KubeRequest request("POST", "/api/v1/namespaces/default/events");
  request.body = "{}";
  const auto reply = run_to_end(io_, client->send(request));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unreachable);
  request.is_repeatable = true;
  EXPECT_EQ(run_to_end(io_, client->send(request))->status, 201U);
}

TEST_F(KubeClientTest, WaitsAsLongAsTheServerAsks) {
  const ScriptedServer server(
      io_, {{status_reply("429 Too Many Requests", "busy"),
             http_reply("429 Too Many Requests", "later", "Retry-After: 1\r\n"),
             http_reply("503 Service Unavailable", "later", "Retry-After: 0\r\n"), http_reply("200 OK", "{}")}});
  const auto client = client_of(server);
  EXPECT_EQ(get(*client).error().code, ErrorCode::Internal);
  const auto began = Clock::now();
  EXPECT_TRUE(get(*client));
  EXPECT_GE(Clock::now() - began, std::chrono::seconds(1));
  EXPECT_EQ(server.requests().size(), 4U);
}

TEST_F(KubeClientTest, DoesNotWaitPastItsDeadline) {
  const ScriptedServer server(io_, {{http_reply("429 Too Many Requests", "later", "Retry-After: 20\r\n")}});
  const auto client = client_of(server);
  const auto began = Clock::now();
  const auto reply = run_to_end(io_, client->send(KubeRequest("GET", "/"), Clock::now() + std::chrono::seconds(5)));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 429U);
  EXPECT_EQ(reply->text, "later");
  EXPECT_EQ(reply->retry_after, std::chrono::seconds(20));
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(5));
}

TEST_F(KubeClientTest, GivesUpOnASlowServer) {
  const ScriptedServer server(io_, {{kSilence}, {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", kSilence}});
  KubeClientOptions options;
  options.request_timeout = std::chrono::milliseconds(200);
  const auto client = client_of(server, options);
  const auto silent = get(*client);
  EXPECT_EQ(silent.error().code, ErrorCode::Timeout);
  EXPECT_NE(silent.error().what.find("GET /version: no progress within the time limit"), std::string::npos);
  EXPECT_EQ(get(*client).error().code, ErrorCode::Timeout);
}

TEST_F(KubeClientTest, RefusesAHeadWithoutEndAndAnAnswerThatIsNone) {
  const ScriptedServer server(io_, {{"HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x')},
                                    {"SSH-2.0-OpenSSH_9.2\r\n"},
                                    {http_reply("200 OK", "<html>login</html>")},
                                    {http_reply("200 OK", R"({"items":)")}});
  const auto client = client_of(server);
  EXPECT_EQ(get(*client).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(get(*client).error().code, ErrorCode::Malformed);
  EXPECT_NE(get(*client).error().what.find("does not answer as a Kubernetes API server: 200 to /version, "
                                           "'<html>login</html>'"),
            std::string::npos);
  EXPECT_EQ(list(*client).error().code, ErrorCode::Malformed);
}

TEST_F(KubeClientTest, ListsPageByPage) {
  const ScriptedServer server(
      io_, {{page(R"({"a":1,"metadata":{"managedFields":[]}},{"a":2})", "t/1"), page(R"({"a":3})", "", "8")}});
  const auto client = client_of(server);
  const auto listed = list(*client);
  ASSERT_TRUE(listed) << listed.error().what;
  EXPECT_EQ(items_, R"({"a":1,"metadata":{}}{"a":2}{"a":3})");
  EXPECT_EQ(listed->pages, 2U);
  EXPECT_EQ(listed->items, 3U);
  EXPECT_EQ(listed->resource_version, "8");
  EXPECT_EQ(server.requests()[0].find("GET /api/v1/nodes?limit=500 HTTP"), 0U);
  EXPECT_EQ(server.requests()[1].find("GET /api/v1/nodes?limit=500&continue=t%2F1 HTTP"), 0U);
}

TEST_F(KubeClientTest, GoesOnAfterAnExpiredTokenOrBeginsAnew) {
  const std::string gone = status_reply("410 Gone", "expired", R"(,"metadata":{"continue":"t2"})");
  const std::vector<ConnectionScript> script = {{page(R"({"a":1})", "t1"), gone, page(R"({"a":2})", "")},
                                                {page(R"({"a":1})", "t1"), gone, page(R"({"a":1},{"a":2})", "")}};
  const ScriptedServer server(io_, {script[0]});
  auto client = client_of(server);
  ASSERT_TRUE(list(*client));
  EXPECT_EQ(items_, R"({"a":1}{"a":2})");
  EXPECT_NE(server.requests()[2].find("continue=t2"), std::string::npos);
  const ScriptedServer again(io_, {script[1]});
  client = client_of(again);
  const auto listed = list(*client, true);
  ASSERT_TRUE(listed);
  EXPECT_EQ(items_, R"({"a":1}restarted{"a":1}{"a":2})");
  EXPECT_EQ(listed->items, 2U);
}

TEST_F(KubeClientTest, GivesUpOnAListWhoseTokensAlwaysExpire) {
  ConnectionScript script;
  for (int restart = 0; restart <= kMaxListRestarts; ++restart) {
    script.push_back(page(R"({"a":1})", "t"));
    script.push_back(status_reply("410 Gone", "The provided continue parameter is too old"));
  }
  const ScriptedServer server(io_, {script});
  const auto client = client_of(server);
  const auto listed = list(*client);
  ASSERT_FALSE(listed);
  EXPECT_NE(listed.error().what.find("410 The provided continue parameter is too old"), std::string::npos);
}

TEST_F(KubeClientTest, NamesTheOwnersOfContestedFields) {
  const ScriptedServer server(
      io_,
      {{http_reply("409 Conflict",
                   R"({"kind":"Status","reason":"Conflict","message":"m","details":{"causes":[)"
                   R"({"reason":"FieldManagerConflict","message":"conflict with \"gpu-feature-discovery\" using v1",)"
                   R"("field":".metadata.labels.nvidia.com/gpu.product"}]}})"),
        http_reply("409 Conflict", R"({"kind":"Status","message":"the object has been modified"})"),
        http_reply("200 OK", R"({"kind":"Node"})")}});
  const auto client = client_of(server);
  const nlohmann::json node = {{"kind", "Node"}};
  const auto apply = [&] { return run_to_end(io_, client->apply("/api/v1/nodes/a", node, "gpuskew agent", false)); };
  const auto refused = apply();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->conflicts,
            (std::vector<KubeConflict>{{"gpu-feature-discovery", ".metadata.labels.nvidia.com/gpu.product"}}));
  EXPECT_FALSE(refused->is_stale);
  const auto overtaken = apply();
  ASSERT_TRUE(overtaken);
  EXPECT_TRUE(overtaken->is_stale);
  EXPECT_TRUE(overtaken->conflicts.empty());
  EXPECT_EQ(apply()->object.dump(), R"({"kind":"Node"})");
  const std::string& request = server.requests().front();
  EXPECT_EQ(request.find("PATCH /api/v1/nodes/a?fieldManager=gpuskew%20agent&force=false HTTP"), 0U);
  EXPECT_NE(
      request.find("\r\nContent-Type: application/apply-patch+yaml\r\nContent-Length: 15\r\n\r\n{\"kind\":\"Node\"}"),
      std::string::npos);
}

TEST_F(KubeClientTest, TellsABudgetsRefusalFromABusyServer) {
  const std::string resources =
      R"({"resources":[{"name":"pods/eviction","group":"policy","version":"v1beta1","kind":"Eviction"}]})";
  const ScriptedServer server(
      io_, {{http_reply("200 OK", resources),
             status_reply("429 Too Many Requests", "Cannot evict pod.",
                          R"(,"details":{"causes":[{"reason":"DisruptionBudget","message":"needs 2"}]})"),
             http_reply("429 Too Many Requests", "busy"), http_reply("201 Created", "{}")}});
  const auto client = client_of(server);
  const auto refused = run_to_end(io_, try_eviction(*client, "default", "web-0"));
  ASSERT_TRUE(refused) << refused.error().what;
  EXPECT_FALSE(refused->allowed);
  EXPECT_EQ(refused->reason, "Cannot evict pod. needs 2");
  EXPECT_FALSE(run_to_end(io_, try_eviction(*client, "default", "web-0")));
  EXPECT_TRUE(run_to_end(io_, try_eviction(*client, "default", "web-0"))->allowed);
  EXPECT_NE(server.requests()[1].find("dryRun=All"), std::string::npos);
  EXPECT_NE(server.requests()[1].find(R"("apiVersion":"policy/v1beta1","deleteOptions":{"dryRun":["All"]})"),
            std::string::npos);
}

TEST_F(KubeClientTest, LogsInAgainOnceWhenItIsRefused) {
  const std::string refused = status_reply("401 Unauthorized", "Unauthorized");
  const ScriptedServer server(io_, {{refused, refused, http_reply("200 OK", "{}")}});
  KubeAccess access = server.access();
  access.exec.emplace();
  int runs = 0;
  KubeClientOptions options;
  options.exec_runner = [&runs](const KubeAccess&) -> Result<ExecCredential> {
    ExecCredential credential;
    credential.token = "run-" + std::to_string(std::min(++runs, 2));
    return credential;
  };
  const auto client = KubeClient::open(io_.get_executor(), access, options);
  ASSERT_TRUE(client);
  const auto denied = get(**client);
  EXPECT_EQ(denied.error().code, ErrorCode::Denied) << denied.error().what;
  EXPECT_NE(server.requests()[0].find("Bearer run-1"), std::string::npos);
  EXPECT_NE(server.requests()[1].find("Bearer run-2"), std::string::npos);
  EXPECT_TRUE(get(**client));
}

TEST_F(KubeClientTest, SendsNoMoreThanItsShareAtOnce) {
  std::vector<ConnectionScript> scripts(kMaxKubeRequests, ConnectionScript(1, kSilence));
  scripts.resize(2 * kMaxKubeRequests, ConnectionScript(1, http_reply("200 OK", "{}")));
  const ScriptedServer server(io_, scripts);
  const auto client = client_of(server);
  std::size_t given_up = 0;
  std::size_t answered = 0;
  std::size_t sent_before = 0;
  const auto note = [&](const std::exception_ptr&, const Result<nlohmann::json>& reply) {
    sent_before = given_up == 0 ? server.requests().size() : sent_before;
    answered += reply ? 1 : 0;
    given_up += reply ? 0 : 1;
  };
  for (std::size_t request = 0; request < kMaxKubeRequests; ++request) {
    asio::co_spawn(io_, client->get("/held", Clock::now() + std::chrono::milliseconds(300)), note);
  }
  for (std::size_t request = 0; request < kMaxKubeRequests; ++request) {
    asio::co_spawn(io_, client->get("/waits"), note);
  }
  run_until(io_, [&] { return given_up == kMaxKubeRequests && answered == kMaxKubeRequests; });
  EXPECT_EQ(sent_before, kMaxKubeRequests);
}

TEST_F(KubeClientTest, OpensNothingWithABrokenUrl) {
  KubeAccess access;
  access.server = "https://";
  access.source = "/k/config, context prod";
  EXPECT_EQ(KubeClient::open(io_.get_executor(), access).error().what.find("/k/config, context prod: "), 0U);
}

}  // namespace
}  // namespace gpuskew
