#include "runtime/kube/errors.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

KubeAccess access() {
  KubeAccess access;
  access.server = "https://10.0.0.1:6443";
  access.source = "/k/config, context prod";
  return access;
}

constexpr const char* kServer = "API server https://10.0.0.1:6443 (/k/config, context prod)";

Error reply_error_of(unsigned status, const std::string& body, const std::string& text = "") {
  KubeReply reply;
  reply.status = status;
  reply.text = text;
  reply.body = body.empty() ? nlohmann::json() : nlohmann::json::parse(body);
  return reply_error(access(), KubeRequest("GET", "/api/v1/nodes?limit=500"), reply, "");
}

std::string status_object(const std::string& message) {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":")" + message + R"("})";
}

TEST(KubeErrors, SayWhatToDoWhenThereIsNoConnection) {
  const auto said = [](const Error& cause) { return connect_error(access(), cause, std::chrono::seconds(5)); };
  EXPECT_EQ(said(Error{ErrorCode::Unreachable, "connecting to 10.0.0.1:6443: connection refused"}),
            (Error{ErrorCode::Unreachable, std::string(kServer) + ": connecting to 10.0.0.1:6443: connection refused; "
                                                                  "check that it runs, and the address and the port"}));
  EXPECT_EQ(said(Error{ErrorCode::Timeout, "no progress"}).what,
            std::string(kServer) + ": no answer within 5s; check the address, the firewall and the VPN");
  EXPECT_EQ(said(Error{ErrorCode::Denied, "the peer's certificate is from an unknown CA"}).what,
            std::string(kServer) +
                ": the peer's certificate is from an unknown CA; the certificate authority that we "
                "were given did not sign it: get the kubeconfig anew");
  EXPECT_EQ(said(Error{ErrorCode::Denied, "the peer's certificate is for another name"}).what,
            std::string(kServer) +
                ": the peer's certificate is for another name; use a name or address that it is "
                "for, or set tls-server-name");
}

TEST(KubeErrors, TellWhoMayNotDoWhat) {
  EXPECT_EQ(
      reply_error_of(403, status_object(R"(nodes is forbidden: User \"viewer\" cannot list resource \"nodes\" in )"
                                        R"(API group \"\" at the cluster scope)")),
      (Error{ErrorCode::Denied,
             std::string(kServer) +
                 ": not allowed: nodes is forbidden: User \"viewer\" cannot list resource \"nodes\" in API group "
                 "\"\" at the cluster scope; let an administrator grant it by a (Cluster)Role"}));
}

TEST(KubeErrors, TellAnExpiredLogin) {
  const Error error = reply_error_of(401, status_object("Unauthorized"));
  EXPECT_EQ(error.code, ErrorCode::Denied);
  EXPECT_EQ(error.what, std::string(kServer) +
                            ": does not know who we are (401): the token or client certificate has expired, was "
                            "revoked, or is of another cluster; log in again");
}

TEST(KubeErrors, TellWhatIsNotThere) {
  EXPECT_EQ(reply_error_of(404, status_object("the server could not find the requested resource")),
            (Error{ErrorCode::NotFound, std::string(kServer) + ": GET /api/v1/nodes: 404 the server could not find the "
                                                               "requested resource"}));
}

TEST(KubeErrors, TellASomethingElseThatAnswers) {
  EXPECT_EQ(reply_error_of(200, "", "<html> <title>Login</title>"),
            (Error{ErrorCode::Malformed, std::string(kServer) + ": does not answer as a Kubernetes API server: 200 to "
                                                                "/api/v1/nodes, '<html> <title>Login</title>'; check "
                                                                "the address"}));
  EXPECT_EQ(reply_error_of(404, R"({"error":"no route"})").code, ErrorCode::Malformed);
  EXPECT_EQ(reply_error_of(302, "").code, ErrorCode::Malformed);
}

TEST(KubeErrors, TellABusyServer) {
  EXPECT_EQ(reply_error_of(429, "", "Too many requests, please try again later.").what,
            std::string(kServer) + ": GET /api/v1/nodes: 429 Too many requests, please try again later.");
  EXPECT_EQ(reply_error_of(500, "").what, std::string(kServer) + ": GET /api/v1/nodes: 500 without a reason");
}

TEST(KubeErrors, ShowNoControlCharactersAndNoMoreThanALine) {
  EXPECT_EQ(shown_text("a\nb\tc\x1b[31m\n"), "a b c?[31m");
  EXPECT_EQ(shown_text(std::string(1000, 'x')).size(), kMaxShownReplyBytes + 3);
}

}  // namespace
}  // namespace gpuskew
