#pragma once

// Text on its way to a peer (a host's files hold any bytes, and protobuf refuses a whole message for one string that
// is not UTF-8) and from one (which may be hostile: its text ends up on terminals).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

/// Bytes of one text field that are taken from a peer.
inline constexpr std::size_t kMaxWireText = 1024;
/// The same of a kernel's command line: the longest COMMAND_LINE_SIZE of any architecture.
inline constexpr std::size_t kMaxWireCommandLine = 4096;
/// Bytes of a peer's text that an error message quotes.
inline constexpr std::size_t kMaxQuoted = 80;

/// RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. Protobuf's parser holds the same rule.
bool is_utf8(std::string_view text);

/// Makes `to` a copy of `from` in which each byte that is not part of a UTF-8 character is '?'; keeps `to`'s memory.
void assign_utf8(std::string& to, std::string_view from);

/// A peer's UTF-8 text for people: each byte of a control character (C0, DEL, C1: terminals act on them) is '?', and
/// what is longer than `limit` bytes (at least 3) is cut between characters and ends in "..." within the limit.
std::string shown_text(std::string_view text, std::size_t limit = kMaxWireText);

/// shown_text(text, limit), without a copy where nothing has to change.
std::string take_shown_text(std::string&& text, std::size_t limit = kMaxWireText);

/// shown_text of at most kMaxQuoted bytes in single quotes, for an error message.
std::string quoted_text(std::string_view text);

/// What keeps a peer's UTF-8 text from being a value: Malformed (empty, or with control characters), TooLarge (over
/// `limit` bytes); nullopt when nothing does.
std::optional<Error> text_error(std::string_view text, std::size_t limit = kMaxWireText);

}  // namespace gpuskew
