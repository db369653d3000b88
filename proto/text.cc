#include "proto/text.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gpuskew {
namespace {

// One bit or byte in each byte of a word.
constexpr std::uint64_t kHighBits = 0x8080808080808080;
constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kSpaces = 0x2020202020202020;
constexpr std::uint64_t kDeletes = 0x7F7F7F7F7F7F7F7F;

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

/// Length of the run of ASCII at the start, in whole words and then bytes.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) {
      break;
    }
  }
  while (at < text.size() && byte_at(text, at) < 0x80) {
    ++at;
  }
  return at;
}

/// Bytes of the character that starts at text[0], which is not ASCII; 0 when it is not a UTF-8 character.
std::size_t multibyte_length(std::string_view text) {
  const std::uint8_t first = byte_at(text, 0);
  std::size_t length = 0;
  // The second byte's range is what excludes overlong forms, surrogates and code points past U+10FFFF.
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    low = first == 0xE0 ? 0xA0 : low;
    high = first == 0xED ? 0x9F : high;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    low = first == 0xF0 ? 0x90 : low;
    high = first == 0xF4 ? 0x8F : high;
  }
  if (length == 0 || text.size() < length || byte_at(text, 1) < low || byte_at(text, 1) > high) {
    return 0;
  }
  for (std::size_t at = 2; at < length; ++at) {
    if ((byte_at(text, at) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

/// Length of the longest prefix that is UTF-8.
std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  for (;;) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) {
      return at;
    }
    const std::size_t length = multibyte_length(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
}

/// In UTF-8 a C1 control is 0xC2 and a byte in 0x80 to 0x9F.
bool is_control_byte(std::uint8_t byte, std::uint8_t before) {
  return byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0);
}

/// Whether a byte of the word may be part of a control character: below ' ', DEL, or not ASCII.
bool is_suspicious(std::uint64_t word) {
  const std::uint64_t deletes = word ^ kDeletes;
  return (((word - kSpaces) | word | (deletes - kOnes)) & kHighBits) != 0;
}

/// Nearly all text is plain: eight bytes at a time, and byte by byte only from the first suspicious word on.
bool has_control_character(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (is_suspicious(word)) {
      break;
    }
  }
  std::uint8_t before = 0;
  for (; at < text.size(); ++at) {
    if (is_control_byte(byte_at(text, at), before)) {
      return true;
    }
    before = byte_at(text, at);
  }
  return false;
}

void replace_control_characters(std::string& text) {
  std::uint8_t before = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::uint8_t byte = byte_at(text, at);
    if (is_control_byte(byte, before)) {
      text[at] = '?';
      if (byte >= 0x80) {
        text[at - 1] = '?';
      }
    }
    before = byte;
  }
}

/// At most `limit` bytes that do not end inside a character.
std::string_view cut(std::string_view text, std::size_t limit) {
  std::size_t end = limit;
  while (end > 0 && (byte_at(text, end) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace

bool is_utf8(std::string_view text) {
  return utf8_prefix(text) == text.size();
}

void assign_utf8(std::string& to, std::string_view from) {
  std::size_t good = utf8_prefix(from);
  to.assign(from.substr(0, good));
  while (good < from.size()) {
    to.push_back('?');
    from.remove_prefix(good + 1);
    good = utf8_prefix(from);
    to.append(from.substr(0, good));
  }
}

std::string shown_text(std::string_view text, std::size_t limit) {
  constexpr std::string_view kCut = "...";
  const bool too_long = text.size() > limit;
  std::string shown(too_long ? cut(text, limit - kCut.size()) : text);
  if (has_control_character(shown)) {
    replace_control_characters(shown);
  }
  if (too_long) {
    shown += kCut;
  }
  return shown;
}

std::string take_shown_text(std::string&& text, std::size_t limit) {
  if (text.size() > limit || has_control_character(text)) {
    return shown_text(text, limit);
  }
  return std::move(text);
}

std::string quoted_text(std::string_view text) {
  std::string quoted = "'";
  quoted += shown_text(text, kMaxQuoted);
  quoted += '\'';
  return quoted;
}

std::optional<Error> text_error(std::string_view text, std::size_t limit) {
  if (text.empty()) {
    return Error{ErrorCode::Malformed, "is empty"};
  }
  if (text.size() > limit) {
    return Error{ErrorCode::TooLarge, "longer than " + std::to_string(limit) + " bytes"};
  }
  if (has_control_character(text)) {
    return Error{ErrorCode::Malformed, quoted_text(text) + " has control characters"};
  }
  return std::nullopt;
}

}  // namespace gpuskew
