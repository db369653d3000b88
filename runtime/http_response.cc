#include "runtime/http_response.h"

#include <array>
#include <ctime>

namespace gpuskew {
namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";  // the phrase means nothing to clients
  }
}

/// RFC 9110's date form.
std::string http_date(std::time_t now) {
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  // The "C" locale's names: this program sets no other.
  const std::size_t length = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text.data(), length);
}

/// A line end in a value would begin a header of the caller's data.
void append_header(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  for (const char character : value) {
    head += static_cast<unsigned char>(character) < ' ' ? ' ' : character;
  }
  head += "\r\n";
}

}  // namespace

std::string head_of(const HttpResponse& response, bool keep_alive, std::time_t now) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head += reason_phrase(response.status);
  head += "\r\n";
  append_header(head, "Date", http_date(now));
  append_header(head, "Content-Type", response.content_type);
  append_header(head, "Content-Length", std::to_string(response.body.size()));
  append_header(head, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) {
    append_header(head, name, value);
  }
  append_header(head, "Connection", keep_alive ? "keep-alive" : "close");
  head += "\r\n";
  return head;
}

HttpResponse refusal_response(const HttpRefusal& refusal) {
  HttpResponse response;
  response.status = refusal.status;
  response.body = "{\"error\":\"" + refusal.why + "\"}\n";
  return response;
}

}  // namespace gpuskew
