#include "aggregator/cli/screen_text.h"

#include <clocale>
#include <cwchar>

namespace gpuskew {
namespace {

constexpr std::string_view kEllipsis = "…";

/// wcwidth answers by the calling thread's locale: ours is C.UTF-8 whatever the environment says, because a bastion
/// reached with LANG=C still writes to a UTF-8 terminal.
class Utf8Locale {
 public:
  Utf8Locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) {
      before_ = uselocale(utf8);
    }
  }
  ~Utf8Locale() {
    if (before_ != nullptr) {
      uselocale(before_);
    }
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t before_ = nullptr;
};

std::size_t width_of(const CodePoint& point) {
  if (!point.valid) {
    return 1;
  }
  const int columns = wcwidth(static_cast<wchar_t>(point.value));
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (is_printable_ascii(text)) {
    return text.size();
  }
  const Utf8Locale utf8;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    columns += width_of(point);
    at += point.bytes;
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) {
    return std::string(text);
  }
  if (columns == 0) {
    return {};
  }
  const Utf8Locale utf8;
  std::size_t used = 1;  // the ellipsis
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    const std::size_t width = width_of(point);
    if (used + width > columns) {
      break;
    }
    used += width;
    at += point.bytes;
  }
  return std::string(text.substr(0, at)).append(kEllipsis);
}

}  // namespace gpuskew
