#include "core/printable.h"

#include <algorithm>
#include <array>

namespace gpuskew {
namespace {

bool is_printable_byte(char c) {
  return c >= ' ' && c <= '~';
}

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

}  // namespace

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_printable_byte);
}

std::string ascii_only(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !is_printable_byte(c); }, '?');
  return text;
}

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

}  // namespace gpuskew
