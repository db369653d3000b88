#pragma once

// Reading one HTTP/1.1 answer after another, within limits. No IO here: bytes in, a head and pieces of a body out.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace gpuskew {

inline constexpr std::size_t kMaxHttpReplyHeadBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxHttpReplyHeaders = 128;

struct HttpReplyHead {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;

  /// The first header of that name, compared without regard to case.
  std::optional<std::string_view> header(std::string_view name) const;
};

class HttpReplyReader {
 public:
  HttpReplyReader();
  ~HttpReplyReader();
  HttpReplyReader(const HttpReplyReader&) = delete;
  HttpReplyReader& operator=(const HttpReplyReader&) = delete;

  /// For the answer to a new request. `without_body`: to HEAD or CONNECT, whatever its headers say.
  void begin(bool without_body);

  /// Takes what it can use of `bytes` and removes it from the view: all, or up to the end of the answer. Answers 1xx
  /// are passed over. Malformed and TooLarge end the connection's use.
  Result<void> read(std::string_view& bytes);
  /// The peer closed. An answer that has no other end ends so; else Unreachable.
  Result<void> read_end();

  bool has_head() const;
  const HttpReplyHead& head() const;
  /// What of the body has come since; empties it.
  std::string take_body();
  bool is_complete() const;
  /// Of a complete answer: whether the connection can be used for another.
  bool keeps_alive() const;
  /// Whether any byte of this answer has come.
  bool has_begun() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace gpuskew
