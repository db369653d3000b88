#pragma once

// Text from outside, made safe for a terminal: nothing a host or a server sends may move the cursor, change colours or
// reorder what is read and copied.

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuskew {

/// One code point of UTF-8 text.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< false: `bytes` is 1 and `value` is that byte
};

/// Only for at < text.size(). Overlong forms, surrogates and cut sequences are not valid.
CodePoint code_point_at(std::string_view text, std::size_t at);

/// Control characters (C0, DEL, C1), line separators, and the invisible characters that reorder text (bidi marks).
bool acts_on_terminal(char32_t value);

/// The text with every such character, and every byte that is not UTF-8, as a visible escape: "\n", "\x1b", "\u202e".
std::string printable(std::string_view text);

/// Printable ASCII only: nearly all text of a fleet is, and needs no decoding.
bool is_printable_ascii(std::string_view text);

/// The text with a '?' for every byte that is not printable ASCII: for facts, whose text goes over the wire.
std::string ascii_only(std::string text);

}  // namespace gpuskew
