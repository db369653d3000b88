#pragma once

// Where the aggregator is: an address that is safe to print beside the one that is called.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

struct AggregatorUrl {
  static constexpr std::size_t kMaxLength = 2048;

  std::string base;   ///< to call: no '/' at the end, with user and password if there were any. Never printed
  std::string shown;  ///< the same without user and password
  std::string host;
  bool encrypted = false;  ///< https
  bool loopback = false;   ///< localhost, 127.0.0.0/8 or [::1]

  /// http or https, a host, perhaps a port and a path. Errors: Malformed, TooLarge; an error repeats no text
  /// that may hold a password.
  static Result<AggregatorUrl> parse(std::string_view text);
};

}  // namespace gpuskew
