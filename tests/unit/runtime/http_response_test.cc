#include "runtime/http_response.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(HttpResponse, HeadHasStatusDateLengthAndConnection) {
  HttpResponse response;
  response.status = 404;
  response.body = "{}\n";
  EXPECT_EQ(head_of(response, true, 1796054737),
            "HTTP/1.1 404 Not Found\r\nDate: Mon, 30 Nov 2026 16:05:37 GMT\r\nContent-Type: application/json\r\n"
            "Content-Length: 3\r\nX-Content-Type-Options: nosniff\r\nConnection: keep-alive\r\n\r\n");
}

TEST(HttpResponse, KeepsAForgedHeaderInsideItsValue) {
  HttpResponse response;
  response.headers.emplace_back("Location", "/a\r\nSet-Cookie: x");
  const std::string head = head_of(response, false, 0);
  EXPECT_NE(head.find("Location: /a  Set-Cookie: x\r\nConnection: close\r\n\r\n"), std::string::npos) << head;
}

TEST(HttpResponse, RefusalIsAJsonError) {
  const HttpResponse response = refusal_response(HttpRefusal{413, "too long"});
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.body, "{\"error\":\"too long\"}\n");
}

}  // namespace
}  // namespace gpuskew
