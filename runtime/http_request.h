#pragma once

// Reading one HTTP/1.1 request, within limits. No IO here: bytes in, a request or the status to refuse it with out.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// "a%20b" -> "a b"; with `plus_is_blank` also "a+b". Malformed for a broken escape or an escaped NUL.
Result<std::string> percent_decode(std::string_view text, bool plus_is_blank);

/// Why a request was refused: the HTTP status and the text for the client.
struct HttpRefusal {
  int status = 400;
  std::string why;
};

/// Requests of one connection, one after another. Bytes past the end of a request are left for the next.
class HttpRequestReader {
 public:
  HttpRequestReader();
  ~HttpRequestReader();
  HttpRequestReader(const HttpRequestReader&) = delete;
  HttpRequestReader& operator=(const HttpRequestReader&) = delete;

  /// Takes what it can use of `bytes` and removes it from the view. A refusal ends the connection's use.
  std::optional<HttpRefusal> read(std::string_view& bytes);

  /// Whether a whole request is there; take it before the next read().
  bool is_complete() const;
  /// Whether nothing of a request has come yet.
  bool is_idle() const;

  struct Message {
    HttpRequest request;
    bool is_head = false;
    bool keep_alive = false;
  };
  /// Only when is_complete(). Makes the reader ready for the next request. `peer` is left empty.
  tl::expected<Message, HttpRefusal> take();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace gpuskew
