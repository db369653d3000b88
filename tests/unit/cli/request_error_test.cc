#include "aggregator/cli/request_error.h"

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace gpuskew {
namespace {

const RequestContext kPlain{"http://fleet:7480", false, "", false, false};
const RequestContext kTls{"https://fleet:7480", true, "", false, false};

Error failure(CURLcode code, const std::string& text, const RequestContext& context, long verify_result = 0) {
  TransportFailure failure;
  failure.code = code;
  failure.text = text;
  failure.verify_result = verify_result;
  return transport_error(failure, context);
}

bool says(const Error& error, std::string_view part) {
  return error.what.find(part) != std::string::npos;
}

TEST(TransportError, SaysWhatToDoWhenTheConnectionIsRefused) {
  TransportFailure refused;
  refused.code = CURLE_COULDNT_CONNECT;
  refused.os_error = ECONNREFUSED;
  const Error error = transport_error(refused, kPlain);
  EXPECT_EQ(error.code, ErrorCode::Unreachable);
  EXPECT_EQ(error.what,
            "could not reach http://fleet:7480: connection refused; is gpuskew-aggregator running? Set --server or "
            "GPUSKEW_SERVER");
}

TEST(TransportError, TellsNoConnectionFromNoAnswer) {
  TransportFailure late;
  late.code = CURLE_OPERATION_TIMEDOUT;
  const Error no_connection = transport_error(late, kPlain);
  EXPECT_EQ(no_connection.code, ErrorCode::Timeout);
  EXPECT_TRUE(says(no_connection, "no connection within 3 s"));
  late.connect_seconds = 0.01;
  EXPECT_TRUE(says(transport_error(late, kPlain), "did not answer within 15 s"));
}

TEST(TransportError, SaysToNameTheCa) {
  const Error error = failure(CURLE_PEER_FAILED_VERIFICATION, "unable to get local issuer certificate", kTls, 20);
  EXPECT_EQ(error.code, ErrorCode::Denied);
  EXPECT_TRUE(says(error, "--ca"));
}

TEST(TransportError, DoubtsTheCaThatWasNamed) {
  RequestContext context = kTls;
  context.has_ca = true;
  EXPECT_TRUE(says(failure(CURLE_PEER_FAILED_VERIFICATION, "self-signed certificate", context, 19), "right file"));
}

TEST(TransportError, NamesOtherCertificateTrouble) {
  EXPECT_TRUE(says(failure(CURLE_PEER_FAILED_VERIFICATION, "certificate has expired", kTls, 10), "has expired"));
  EXPECT_TRUE(says(failure(CURLE_PEER_FAILED_VERIFICATION, "no alternative certificate subject name matches", kTls, 62),
                   "another name"));
  EXPECT_TRUE(says(failure(CURLE_PEER_FAILED_VERIFICATION, "certificate revoked", kTls, 23), "certificate revoked"));
}

TEST(TransportError, GuessesAtTheOtherProtocol) {
  EXPECT_TRUE(says(failure(CURLE_GOT_NOTHING, "Empty reply", kPlain), "use https://"));
  EXPECT_TRUE(says(failure(CURLE_SSL_CONNECT_ERROR, "wrong version number", kTls), "use http://"));
}

TEST(TransportError, SaysToShowACertificateWhenTheServerHangsUp) {
  EXPECT_TRUE(says(failure(CURLE_RECV_ERROR, "tlsv13 alert certificate required", kTls), "--cert and --key"));
  RequestContext context = kTls;
  context.has_certificate = true;
  EXPECT_FALSE(says(failure(CURLE_RECV_ERROR, "tlsv1 alert unknown ca", context), "--cert"));
}

TEST(TransportError, NamesOurOwnFiles) {
  EXPECT_TRUE(says(failure(CURLE_SSL_CACERT_BADFILE, "", kTls), "--ca"));
  EXPECT_TRUE(says(failure(CURLE_SSL_CERTPROBLEM, "", kTls), "--key"));
}

TEST(TransportError, NamesHostsThatDoNotResolve) {
  EXPECT_TRUE(says(failure(CURLE_COULDNT_RESOLVE_HOST, "", kPlain), "does not resolve"));
  EXPECT_TRUE(says(failure(CURLE_COULDNT_RESOLVE_PROXY, "", kPlain), "proxy"));
}

TEST(TransportError, SaysSomethingOfEveryOtherFailure) {
  EXPECT_TRUE(says(failure(CURLE_HTTP2, "", kPlain), "could not reach http://fleet:7480: "));
  EXPECT_TRUE(says(failure(CURLE_WEIRD_SERVER_REPLY, "Received HTTP/0.9", kPlain), "HTTP/0.9"));
}

TEST(StatusError, AsksForATokenOrDoubtsTheOneGiven) {
  const Error none = status_error(401, "/api/v1/status", R"({"error":"no token was sent"})", kPlain);
  EXPECT_EQ(none.code, ErrorCode::Denied);
  EXPECT_TRUE(says(none, "--token-file")) << none.what;
  EXPECT_TRUE(says(none, "no token was sent"));
  RequestContext context = kPlain;
  context.token_file = "/etc/token";
  EXPECT_TRUE(says(status_error(401, "/", "", context), "refused the token in /etc/token"));
}

TEST(StatusError, PassesTheServersAdviceOn) {
  EXPECT_EQ(status_error(409, "/api/v1/audit", R"({"error":"no matrix is configured"})", kPlain).what,
            "no matrix is configured");
  EXPECT_EQ(status_error(404, "/api/v1/nodes/n1", R"({"error":"no node n1"})", kPlain).what, "no node n1");
  EXPECT_TRUE(says(status_error(500, "/", R"({"error":"disk full"})", kPlain), "disk full"));
}

TEST(StatusError, TakesAnyBody) {
  for (const std::string body : {"", "<html>", "[]", "{}", R"({"error":5})", R"({"error":{}})"}) {
    EXPECT_TRUE(says(status_error(404, "/api/v1/nodes", body, kPlain), "is it a gpuskew-aggregator"));
    EXPECT_TRUE(says(status_error(503, "/", body, kPlain), "HTTP 503"));
    EXPECT_FALSE(status_error(409, "/", body, kPlain).what.empty());
  }
}

TEST(StatusError, MakesTheServersTextPrintableAndShort) {
  const std::string body = "{\"error\":\"\\u001b[2Jgone" + std::string(5000, 'x') + "\"}";
  const Error error = status_error(404, "/", body, kPlain);
  EXPECT_EQ(error.what.substr(0, 11), "\\x1b[2Jgone");
  EXPECT_LT(error.what.size(), kMaxServerMessage + 10);
}

TEST(StatusError, SaysWhatIsForbiddenAndWhereItIsSent) {
  EXPECT_EQ(status_error(403, "/api/v1/audit", "", kPlain).code, ErrorCode::Denied);
  EXPECT_TRUE(says(status_error(403, "/api/v1/audit", "", kPlain), "/api/v1/audit"));
  EXPECT_TRUE(says(status_error(302, "/", "", kPlain), "--server"));
}

}  // namespace
}  // namespace gpuskew
