#include "agent/probes/toml_cursor.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gpuskew {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void append_utf8(std::string& into, std::uint32_t point) {
  constexpr std::uint32_t kOneByte = 0x80;
  constexpr std::uint32_t kTwoBytes = 0x800;
  constexpr std::uint32_t kThreeBytes = 0x10000;
  const auto tail = [point](unsigned shift) { return static_cast<char>(0x80U | ((point >> shift) & 0x3fU)); };
  if (point < kOneByte) {
    into += static_cast<char>(point);
  } else if (point < kTwoBytes) {
    into += {static_cast<char>(0xc0U | (point >> 6U)), tail(0)};
  } else if (point < kThreeBytes) {
    into += {static_cast<char>(0xe0U | (point >> 12U)), tail(6), tail(0)};
  } else {
    into += {static_cast<char>(0xf0U | (point >> 18U)), tail(12), tail(6), tail(0)};
  }
}

// "1_000"; nullopt for what is no decimal integer, or none of 64 bits.
std::optional<std::int64_t> decimal(std::string_view word) {
  std::string digits;
  for (const char c : word) {
    if (c != '_' && !(c == '+' && digits.empty())) {
      digits += c;
    }
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

tl::unexpected<Error> TomlCursor::malformed(std::string_view problem) const {
  return fail(ErrorCode::Malformed,
              std::string(file_) + ":" + std::to_string(line_) + ": not TOML: " + std::string(problem));
}

tl::unexpected<Error> TomlCursor::too_large(std::string_view problem) const {
  return fail(ErrorCode::TooLarge, std::string(file_) + ":" + std::to_string(line_) + ": " + std::string(problem));
}

void TomlCursor::step() {
  line_ += text_[at_] == '\n' ? 1 : 0;
  ++at_;
}

bool TomlCursor::take(char wanted) {
  if (at_end() || text_[at_] != wanted) {
    return false;
  }
  step();
  return true;
}

bool TomlCursor::take(std::string_view wanted) {
  if (!text_.substr(at_).starts_with(wanted)) {
    return false;
  }
  for (std::size_t taken = 0; taken < wanted.size(); ++taken) {
    step();
  }
  return true;
}

void TomlCursor::skip_blanks() {
  while (peek() == ' ' || peek() == '\t') {
    step();
  }
}

void TomlCursor::skip_lines() {
  for (;;) {
    skip_blanks();
    if (peek() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (!take('\n') && !take("\r\n")) {
      return;
    }
  }
}

Result<void> TomlCursor::end_line() {
  skip_blanks();
  if (peek() == '#') {
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
  if (at_end() || take('\n') || take("\r\n")) {
    return {};
  }
  return malformed("more behind the end of a value or table");
}

Result<std::string> TomlCursor::key_part() {
  if (peek() == '"' || peek() == '\'') {
    const bool is_long = peek(1) == peek() && peek(2) == peek();
    return is_long ? Result<std::string>(malformed("a key of several lines")) : quoted();
  }
  const std::size_t begin = at_;
  while (is_bare(peek())) {
    step();
  }
  return begin == at_ ? Result<std::string>(malformed("a key is missing"))
                      : std::string(text_.substr(begin, at_ - begin));
}

Result<TomlPath> TomlCursor::key() {
  TomlPath path;
  do {
    skip_blanks();
    if (path.size() == kMaxTomlKeyParts) {
      return too_large("a key of more than " + std::to_string(kMaxTomlKeyParts) + " parts");
    }
    auto part = key_part();
    if (!part) {
      return tl::unexpected(part.error());
    }
    path.push_back(std::move(*part));
    skip_blanks();
  } while (take('.'));
  return path;
}

Result<std::string> TomlCursor::quoted() {
  const char quote = peek();
  const bool escapes = quote == '"';
  if (take(std::string(3, quote))) {
    // A line end right behind the quotes is not part of the text.
    if (!take('\n')) {
      take("\r\n");
    }
    return quoted_to(escapes ? "\"\"\"" : "'''", escapes, true);
  }
  take(quote);
  return quoted_to(escapes ? "\"" : "'", escapes, false);
}

Result<std::string> TomlCursor::quoted_to(std::string_view end, bool escapes, bool lines) {
  std::string text;
  while (!at_end()) {
    if (take(end)) {
      // Up to two quotes may stand ahead of the closing three.
      for (int more = 0; lines && more < 2 && take(end.front()); ++more) {
        text += end.front();
      }
      return text;
    }
    if (peek() == '\n' && !lines) {
      break;
    }
    if (escapes && take('\\')) {
      if (auto taken = take_escape(text, lines); !taken) {
        return tl::unexpected(taken.error());
      }
      continue;
    }
    text += peek();
    step();
  }
  return malformed("a text without its end");
}

Result<void> TomlCursor::take_escape(std::string& into, bool lines) {
  constexpr std::string_view kNames = "btnfr\"\\";
  constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\";
  if (const std::size_t known = kNames.find(peek()); known != std::string_view::npos && !at_end()) {
    into += kMeanings[known];
    step();
    return {};
  }
  const std::size_t digits = peek() == 'u' ? 4 : peek() == 'U' ? 8 : 0;
  if (digits > 0) {
    step();
    std::uint32_t point = 0;
    constexpr int kHex = 16;
    const std::string_view word = text_.substr(at_, digits);
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), point, kHex);
    const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    if (error != std::errc() || stop != word.data() + digits || point > 0x10ffff || is_surrogate) {
      return malformed("a \\u that names no character");
    }
    at_ += digits;
    append_utf8(into, point);
    return {};
  }
  // At a line's end: the end and the blanks of the next lines are left out.
  const std::uint32_t before = line_;
  while (lines && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) {
    step();
  }
  return line_ > before ? Result<void>() : malformed("an unknown escape behind a backslash");
}

Result<decltype(TomlSetting::value)> TomlCursor::bare_value() {
  constexpr std::string_view kOfNumbers = "0123456789+-_.:abcdefABCDEFxoTtZzinI ";
  const std::size_t begin = at_;
  while (is_bare(peek()) || (peek() != '\0' && std::string_view("+.:").find(peek()) != std::string_view::npos)) {
    step();
  }
  std::string_view word = text_.substr(begin, at_ - begin);
  if (word == "true" || word == "false") {
    return word == "true";
  }
  // A date and its time may have a blank between them.
  constexpr std::size_t kDate = 10;
  if (word.size() == kDate && word[4] == '-' && peek() == ' ' && peek(1) >= '0' && peek(1) <= '2') {
    step();
    while (is_bare(peek()) || peek() == ':' || peek() == '.' || peek() == '+') {
      step();
    }
    word = text_.substr(begin, at_ - begin);
  }
  if (const auto number = decimal(word)) {
    return *number;
  }
  const bool begins_well =
      !word.empty() && std::string_view("0123456789+-in").find(word.front()) != std::string_view::npos;
  if (!begins_well || word.find_first_not_of(kOfNumbers) != std::string_view::npos) {
    return malformed("a value is missing, or is none");
  }
  return TomlOther{};
}

}  // namespace gpuskew
