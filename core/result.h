#pragma once

// The one way to fail: a function that can fail returns Result<T>; exceptions are for bugs.
// `what` names the path or peer, and callers add context on the left as the error rises:
// "reading /sys/module/nvidia/version: permission denied".

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace gpuskew {

enum class ErrorCode : std::uint8_t {
  NotFound,     ///< the thing is certainly not there
  Denied,       ///< it may be there, we were not allowed to look
  Malformed,    ///< it is there and does not read as what it should be
  TooLarge,     ///< past a named limit
  Timeout,      ///< no answer within a named wait
  Unreachable,  ///< no path to the peer
  Unsupported,  ///< the peer or this platform does not have it
  Internal,     ///< anything else; `what` must say enough for a bug report
};

/// The code as a lower-case word ("not-found"); stable, used on the wire and in JSON.
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string what;

  bool operator==(const Error&) const = default;
};

/// A value or an Error. Unlike tl::expected itself, ignoring one is a compiler warning.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

/// For `return fail(ErrorCode::NotFound, "...")` in a function that returns any Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string what) {
  return tl::unexpected<Error>(Error{code, std::move(what)});
}

/// The same error one level up: "context: what".
inline tl::unexpected<Error> fail(std::string_view context, const Error& cause) {
  return tl::unexpected<Error>(Error{cause.code, std::string(context) + ": " + cause.what});
}

/// Text from outside as an error may show it: in single quotes, cut after 80 bytes, '?' for every byte that is not
/// printable ASCII, so that a hostile file can not write to a terminal or a log.
std::string in_quotes(std::string_view text);

}  // namespace gpuskew
