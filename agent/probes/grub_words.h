#pragma once

// The words of a grub script, one at a time: a generated grub.cfg has up to a megabyte, and nothing of it is kept.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuskew {

/// A word as it is written: literal text and variables side by side.
struct GrubWord {
  struct Part {
    bool is_variable = false;
    bool is_quoted = false;
    std::string text;  ///< the variable's name, or the text with its escapes resolved
  };
  std::vector<Part> parts;

  /// The word where it has no variable in it; else "".
  std::string_view literal() const;
};

struct GrubToken {
  enum class Kind : std::uint8_t {
    Word,
    CommandEnd,  ///< a newline or ';'
    Open,        ///< '{'
    Close,       ///< '}'
    TextEnd,
  };
  Kind kind = Kind::TextEnd;
  GrubWord word;
};

/// Takes any bytes and always comes to an end: a quote that is never closed ends with the text.
class GrubWords {
 public:
  explicit GrubWords(std::string_view text) : text_(text) {}

  const GrubToken& peek();
  GrubToken take();

 private:
  GrubToken next();
  void skip_blanks();
  GrubWord word();
  void add(GrubWord& word, char c, bool quoted);
  void variable(GrubWord& word, bool quoted);
  void single_quoted(GrubWord& word);
  void double_quoted(GrubWord& word);

  std::string_view text_;
  std::size_t at_ = 0;
  GrubToken ahead_;
  bool has_ahead_ = false;
};

}  // namespace gpuskew
