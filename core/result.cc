#include "core/result.h"

namespace gpuskew {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return "not-found";
    case ErrorCode::Denied:
      return "denied";
    case ErrorCode::Malformed:
      return "malformed";
    case ErrorCode::TooLarge:
      return "too-large";
    case ErrorCode::Timeout:
      return "timeout";
    case ErrorCode::Unreachable:
      return "unreachable";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";  // a number from the wire that no enumerator has
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const bool printable = c >= ' ' && c <= '~';
    out += printable ? c : '?';
  }
  out += text.size() > kShown ? "...'" : "'";
  return out;
}

}  // namespace gpuskew
