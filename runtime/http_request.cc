#include "runtime/http_request.h"

#include <http_parser.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace gpuskew {
namespace {

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  });
}

Result<std::map<std::string, std::string>> parse_query(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto key = percent_decode(pair.substr(0, equals), true);
    const auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) {
      return tl::unexpected(key ? value.error() : key.error());
    }
    if (!pair.empty()) {
      query.insert_or_assign(*key, *value);
    }
  }
  return query;
}

}  // namespace

Result<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  constexpr int kHex = 16;
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += plus_is_blank && text[at] == '+' ? ' ' : text[at];
      continue;
    }
    unsigned char byte = 0;
    const std::string_view digits = text.substr(at + 1, 2);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), byte, kHex);
    if (digits.size() != 2 || parsed.ec != std::errc() || parsed.ptr != digits.data() + 2 || byte == 0) {
      return fail(ErrorCode::Malformed, "the URL has a broken % escape");
    }
    decoded += static_cast<char>(byte);
    at += 2;
  }
  return decoded;
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignoring_case(key, name)) {
      return value;
    }
  }
  return std::nullopt;
}

struct HttpRequestReader::Parser {
  Parser() { reset(); }

  void reset() {
    ::http_parser_init(&parser, HTTP_REQUEST);
    parser.data = this;
    url.clear();
    headers.clear();
    in_value = false;
    started = false;
    complete = false;
    head_bytes = 0;
    body_bytes = 0;
    refusal.reset();
  }

  /// Stops the parser; the status is for the client.
  int refuse(int status, std::string why) {
    refusal = HttpRefusal{status, std::move(why)};
    return -1;
  }

  int count_head(std::size_t length) {
    head_bytes += length;
    return head_bytes > kMaxHttpHeadBytes ? refuse(431, "the request's headers are too long") : 0;
  }

  int add_url(std::string_view text) {
    url.append(text);
    return url.size() > kMaxHttpUrlBytes ? refuse(414, "the URL is too long") : count_head(text.size());
  }

  int add_header_name(std::string_view text) {
    if (in_value || headers.empty()) {
      if (headers.size() == kMaxHttpHeaders) {
        return refuse(431, "the request has too many headers");
      }
      headers.emplace_back();
      in_value = false;
    }
    headers.back().first.append(text);
    return count_head(text.size());
  }

  int add_header_value(std::string_view text) {
    in_value = true;
    headers.back().second.append(text);
    return count_head(text.size());
  }

  int end_head() {
    constexpr auto kUnknown = static_cast<std::uint64_t>(-1);
    if (parser.content_length != kUnknown && parser.content_length > kMaxHttpBodyBytes) {
      return refuse(413, "the request's body is too long");
    }
    return 0;
  }

  int add_body(std::size_t length) {
    body_bytes += length;
    return body_bytes > kMaxHttpBodyBytes ? refuse(413, "the request's body is too long") : 0;
  }

  int end_message() {
    complete = true;
    keep_alive = ::http_should_keep_alive(&parser) != 0 && parser.upgrade == 0;
    ::http_parser_pause(&parser, 1);  // the next request's bytes are not looked at before this one is answered
    return 0;
  }

  ::http_parser parser{};
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  bool in_value = false;
  bool started = false;
  bool complete = false;
  bool keep_alive = false;
  std::size_t head_bytes = 0;
  std::size_t body_bytes = 0;
  std::optional<HttpRefusal> refusal;
};

namespace {

template <class Parser>
http_parser_settings make_settings() {
  http_parser_settings settings{};
  settings.on_message_begin = [](http_parser* parser) {
    static_cast<Parser*>(parser->data)->started = true;
    return 0;
  };
  settings.on_url = [](http_parser* parser, const char* at, std::size_t length) {
    return static_cast<Parser*>(parser->data)->add_url(std::string_view(at, length));
  };
  settings.on_header_field = [](http_parser* parser, const char* at, std::size_t length) {
    return static_cast<Parser*>(parser->data)->add_header_name(std::string_view(at, length));
  };
  settings.on_header_value = [](http_parser* parser, const char* at, std::size_t length) {
    return static_cast<Parser*>(parser->data)->add_header_value(std::string_view(at, length));
  };
  settings.on_headers_complete = [](http_parser* parser) { return static_cast<Parser*>(parser->data)->end_head(); };
  settings.on_body = [](http_parser* parser, const char*, std::size_t length) {
    return static_cast<Parser*>(parser->data)->add_body(length);
  };
  settings.on_message_complete = [](http_parser* parser) { return static_cast<Parser*>(parser->data)->end_message(); };
  return settings;
}

}  // namespace

HttpRequestReader::HttpRequestReader() : parser_(std::make_unique<Parser>()) {}
HttpRequestReader::~HttpRequestReader() = default;

std::optional<HttpRefusal> HttpRequestReader::read(std::string_view& bytes) {
  static const http_parser_settings settings = make_settings<Parser>();
  const std::size_t used = ::http_parser_execute(&parser_->parser, &settings, bytes.data(), bytes.size());
  bytes.remove_prefix(std::min(used, bytes.size()));
  if (parser_->refusal) {
    return parser_->refusal;
  }
  const auto error = static_cast<http_errno>(parser_->parser.http_errno);
  if (error == HPE_HEADER_OVERFLOW) {
    return HttpRefusal{431, "the request's headers are too long"};
  }
  if (error != HPE_OK && error != HPE_PAUSED) {
    return HttpRefusal{400, std::string("not an HTTP/1.1 request: ") + ::http_errno_description(error)};
  }
  return std::nullopt;
}

bool HttpRequestReader::is_complete() const {
  return parser_->complete;
}

bool HttpRequestReader::is_idle() const {
  return !parser_->started;
}

tl::expected<HttpRequestReader::Message, HttpRefusal> HttpRequestReader::take() {
  Message message;
  http_parser_url parts{};
  ::http_parser_url_init(&parts);
  const bool is_connect = parser_->parser.method == HTTP_CONNECT;
  const std::string& url = parser_->url;
  const auto part = [&parts, &url](http_parser_url_fields field) {
    const bool is_there = (parts.field_set & (1U << field)) != 0;
    return is_there ? std::string_view(url).substr(parts.field_data[field].off, parts.field_data[field].len)
                    : std::string_view();
  };
  if (::http_parser_parse_url(url.data(), url.size(), is_connect ? 1 : 0, &parts) != 0 || part(UF_PATH).empty()) {
    return tl::unexpected(HttpRefusal{400, "the URL is not a path"});
  }
  auto path = percent_decode(part(UF_PATH), false);
  auto query = parse_query(part(UF_QUERY));
  if (!path || !query) {
    return tl::unexpected(HttpRefusal{400, path ? query.error().what : path.error().what});
  }
  message.is_head = parser_->parser.method == HTTP_HEAD;
  message.keep_alive = parser_->keep_alive;
  message.request.method =
      message.is_head ? "GET" : ::http_method_str(static_cast<http_method>(parser_->parser.method));
  message.request.path = std::move(*path);
  message.request.query = std::move(*query);
  message.request.headers = std::move(parser_->headers);
  parser_->reset();
  return message;
}

}  // namespace gpuskew
