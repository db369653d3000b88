#include "aggregator/cli/screen_text.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cwchar>

namespace gpuskew {
namespace {

constexpr std::string_view kEllipsis = "…";

/// Bytes the lead byte announces; 0 when it can not start a character.
std::size_t announced_bytes(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xc2 && lead <= 0xdf) {
    return 2;
  }
  if (lead >= 0xe0 && lead <= 0xef) {
    return 3;
  }
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

char32_t payload_of_lead(unsigned char lead, std::size_t bytes) {
  constexpr std::array<unsigned, 5> kMask = {0, 0x7f, 0x1f, 0x0f, 0x07};
  return lead & kMask.at(bytes);
}

bool is_scalar_in_shortest_form(char32_t value, std::size_t bytes) {
  constexpr std::array<char32_t, 5> kLowest = {0, 0, 0x80, 0x800, 0x10000};
  return value >= kLowest.at(bytes) && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

void append_hex(std::string& out, std::string_view prefix, char32_t value, int digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += kHex[(value >> shift) & 0xf];
  }
}

void append_escape(std::string& out, char32_t value) {
  switch (value) {
    case U'\n':
      out += "\\n";
      return;
    case U'\r':
      out += "\\r";
      return;
    case U'\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (value < 0x80) {
    append_hex(out, "\\x", value, 2);
  } else {
    append_hex(out, "\\u", value, 4);
  }
}

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

/// Nearly all text of a fleet is: it needs no decoding.
bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::size_t width_of(const CodePoint& point) {
  if (!point.valid) {
    return 1;
  }
  const int columns = wcwidth(static_cast<wchar_t>(point.value));
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const CodePoint broken{lead, 1, false};
  const std::size_t bytes = announced_bytes(lead);
  if (bytes == 0 || at + bytes > text.size()) {
    return broken;
  }
  char32_t value = payload_of_lead(lead, bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0U) != 0x80U) {
      return broken;
    }
    value = (value << 6) | (next & 0x3fU);
  }
  return is_scalar_in_shortest_form(value, bytes) ? CodePoint{value, bytes, true} : broken;
}

bool acts_on_terminal(char32_t value) {
  return value < 0x20 || (value >= 0x7f && value <= 0x9f) || value == 0x61c || value == 0x200e || value == 0x200f ||
         (value >= 0x2028 && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069) || value == 0xfeff;
}

std::string printable(std::string_view text) {
  if (is_printable_ascii(text)) {
    return std::string(text);
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (!point.valid) {
      append_hex(out, "\\x", point.value, 2);
    } else if (acts_on_terminal(point.value)) {
      append_escape(out, point.value);
    } else {
      out += text.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

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
