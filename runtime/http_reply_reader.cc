#include "runtime/http_reply_reader.h"

#include <http_parser.h>
#include <strings.h>

#include <algorithm>

namespace gpuskew {

std::optional<std::string_view> HttpReplyHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key.size() == name.size() && ::strncasecmp(key.data(), name.data(), name.size()) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

struct HttpReplyReader::Parser {
  void begin(bool is_without_body) {
    ::http_parser_init(&parser, HTTP_RESPONSE);
    parser.data = this;
    without_body = is_without_body;
    started = false;
    body.clear();
    refusal.reset();
    begin_head();
  }

  void begin_head() {
    head = HttpReplyHead();
    in_value = false;
    head_complete = false;
    complete = false;
    keep_alive = false;
    head_bytes = 0;
  }

  int refuse(std::string why) {
    refusal = Error{ErrorCode::TooLarge, std::move(why)};
    return -1;
  }

  int count_head(std::size_t length) {
    head_bytes += length;
    return head_bytes > kMaxHttpReplyHeadBytes
               ? refuse("the answer's headers are longer than " + std::to_string(kMaxHttpReplyHeadBytes) + " bytes")
               : 0;
  }

  int add_header_name(std::string_view text) {
    if (in_value || head.headers.empty()) {
      if (head.headers.size() == kMaxHttpReplyHeaders) {
        return refuse("the answer has more than " + std::to_string(kMaxHttpReplyHeaders) + " headers");
      }
      head.headers.emplace_back();
      in_value = false;
    }
    head.headers.back().first.append(text);
    return count_head(text.size());
  }

  int add_header_value(std::string_view text) {
    if (head.headers.empty()) {
      return -1;
    }
    in_value = true;
    head.headers.back().second.append(text);
    return count_head(text.size());
  }

  int end_head() {
    head.status = parser.status_code;
    head_complete = !is_interim();
    return without_body ? 1 : 0;  // 1: no body follows, whatever the headers say
  }

  /// 1xx says that the answer is still to come; 101 would be one, but nobody asked for it.
  bool is_interim() const { return head.status >= 100 && head.status < 200 && head.status != 101; }

  int end_message() {
    if (is_interim()) {
      begin_head();
      return 0;
    }
    complete = true;
    keep_alive = ::http_should_keep_alive(&parser) != 0 && parser.upgrade == 0;
    ::http_parser_pause(&parser, 1);
    return 0;
  }

  Result<void> execute(const char* data, std::size_t size, std::size_t& used);

  ::http_parser parser{};
  HttpReplyHead head;
  std::string body;
  bool without_body = false;
  bool started = false;
  bool in_value = false;
  bool head_complete = false;
  bool complete = false;
  bool keep_alive = false;
  std::size_t head_bytes = 0;
  std::optional<Error> refusal;
};

namespace {

template <class Parser>
http_parser_settings make_settings() {
  http_parser_settings settings{};
  settings.on_header_field = [](http_parser* parser, const char* at, std::size_t length) {
    return static_cast<Parser*>(parser->data)->add_header_name(std::string_view(at, length));
  };
  settings.on_header_value = [](http_parser* parser, const char* at, std::size_t length) {
    return static_cast<Parser*>(parser->data)->add_header_value(std::string_view(at, length));
  };
  settings.on_headers_complete = [](http_parser* parser) { return static_cast<Parser*>(parser->data)->end_head(); };
  settings.on_body = [](http_parser* parser, const char* at, std::size_t length) {
    static_cast<Parser*>(parser->data)->body.append(at, length);
    return 0;
  };
  settings.on_message_complete = [](http_parser* parser) { return static_cast<Parser*>(parser->data)->end_message(); };
  return settings;
}

}  // namespace

Result<void> HttpReplyReader::Parser::execute(const char* data, std::size_t size, std::size_t& used) {
  static const http_parser_settings settings = make_settings<Parser>();
  used = std::min(::http_parser_execute(&parser, &settings, data, size), size);
  if (refusal) {
    return tl::unexpected(*refusal);
  }
  const auto error = static_cast<http_errno>(parser.http_errno);
  if (error == HPE_HEADER_OVERFLOW) {
    return fail(ErrorCode::TooLarge,
                "the answer's headers are longer than " + std::to_string(kMaxHttpReplyHeadBytes) + " bytes");
  }
  if (error == HPE_INVALID_EOF_STATE) {
    return fail(ErrorCode::Unreachable, "the connection was cut before the answer ended");
  }
  if (error != HPE_OK && error != HPE_PAUSED) {
    return fail(ErrorCode::Malformed, std::string("no HTTP/1.1 answer: ") + ::http_errno_description(error));
  }
  return {};
}

HttpReplyReader::HttpReplyReader() : parser_(std::make_unique<Parser>()) {
  parser_->begin(false);
}
HttpReplyReader::~HttpReplyReader() = default;

void HttpReplyReader::begin(bool without_body) {
  parser_->begin(without_body);
}

Result<void> HttpReplyReader::read(std::string_view& bytes) {
  if (bytes.empty() || parser_->complete) {
    return {};
  }
  parser_->started = true;
  std::size_t used = 0;
  auto done = parser_->execute(bytes.data(), bytes.size(), used);
  bytes.remove_prefix(used);
  return done;
}

Result<void> HttpReplyReader::read_end() {
  if (parser_->complete) {
    return {};
  }
  std::size_t used = 0;
  if (auto done = parser_->execute(nullptr, 0, used); !done) {
    return done;
  }
  if (!parser_->complete) {
    return fail(ErrorCode::Unreachable, parser_->started ? "the connection was cut before the answer ended"
                                                         : "the connection was closed without an answer");
  }
  return {};
}

bool HttpReplyReader::has_head() const {
  return parser_->head_complete;
}

const HttpReplyHead& HttpReplyReader::head() const {
  return parser_->head;
}

std::string HttpReplyReader::take_body() {
  return std::exchange(parser_->body, std::string());
}

bool HttpReplyReader::is_complete() const {
  return parser_->complete;
}

bool HttpReplyReader::keeps_alive() const {
  return parser_->complete && parser_->keep_alive;
}

bool HttpReplyReader::has_begun() const {
  return parser_->started;
}

}  // namespace gpuskew
