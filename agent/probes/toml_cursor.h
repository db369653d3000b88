#pragma once

// The words of TOML: keys, texts and other values, one after the other, with the line each is on. What they mean
// together is toml.cc's business.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "agent/probes/toml.h"
#include "core/result.h"

namespace gpuskew {

/// A place in a text that stays the caller's. After an error it is of no more use.
class TomlCursor {
 public:
  TomlCursor(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  /// '\0' at the end, which no text of TOML holds.
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(char wanted);
  bool take(std::string_view wanted);
  std::uint32_t line() const { return line_; }

  void skip_blanks();
  /// Blanks, comments and line ends.
  void skip_lines();
  /// Nothing but a comment may stand before the line's end. Malformed.
  Result<void> end_line();

  /// A dotted key. Malformed; TooLarge past kMaxTomlKeyParts.
  Result<TomlPath> key();
  /// In any of the four kinds of quotes.
  Result<std::string> quoted();
  /// true, false, a number or a date; every number but a plain decimal one is TomlOther.
  Result<decltype(TomlSetting::value)> bare_value();

  /// "FILE:LINE: not TOML: <problem>"
  tl::unexpected<Error> malformed(std::string_view problem) const;
  tl::unexpected<Error> too_large(std::string_view problem) const;

 private:
  Result<std::string> key_part();
  Result<std::string> quoted_to(std::string_view end, bool escapes, bool lines);
  Result<void> take_escape(std::string& into, bool lines);
  void step();

  std::string_view file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace gpuskew
