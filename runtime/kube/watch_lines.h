#pragma once

// A watch's body, cut into its lines. No IO here.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

class WatchLines {
 public:
  explicit WatchLines(std::size_t max_line) : max_line_(max_line) {}

  /// The next piece of the body; take every next() before the one behind it. TooLarge for a line that does not end.
  Result<void> add(std::string_view piece);
  /// The next whole line without its end, valid until add(). Empty lines are left out.
  std::optional<std::string_view> next();

 private:
  std::size_t max_line_;
  std::string text_;
  std::size_t taken_ = 0;
};

}  // namespace gpuskew
