#include "runtime/kube/watch_lines.h"

namespace gpuskew {
namespace {

/// More than this is given back once it is not needed.
constexpr std::size_t kKeptCapacity = std::size_t{64} << 10;

}  // namespace

Result<void> WatchLines::add(std::string_view piece) {
  text_.erase(0, taken_);
  taken_ = 0;
  if (text_.empty() && text_.capacity() > kKeptCapacity) {
    std::string().swap(text_);
  }
  const bool ends = piece.find('\n') != std::string_view::npos;
  text_ += piece;
  if (!ends && text_.size() > max_line_) {
    return fail(ErrorCode::TooLarge, "an event is longer than " + std::to_string(max_line_) + " bytes");
  }
  return {};
}

std::optional<std::string_view> WatchLines::next() {
  for (;;) {
    const std::size_t end = text_.find('\n', taken_);
    if (end == std::string::npos) {
      return std::nullopt;
    }
    std::string_view line(text_.data() + taken_, end - taken_);
    taken_ = end + 1;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!line.empty()) {
      return line;
    }
  }
}

}  // namespace gpuskew
