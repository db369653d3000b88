#include "agent/probes/grub_words.h"

#include <algorithm>
#include <utility>

namespace gpuskew {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool ends_word(char c) {
  return is_blank(c) || c == '\n' || c == ';' || c == '{' || c == '}';
}

}  // namespace

std::string_view GrubWord::literal() const {
  return parts.size() == 1 && !parts.front().is_variable ? std::string_view(parts.front().text) : std::string_view();
}

const GrubToken& GrubWords::peek() {
  if (!has_ahead_) {
    ahead_ = next();
    has_ahead_ = true;
  }
  return ahead_;
}

GrubToken GrubWords::take() {
  if (has_ahead_) {
    has_ahead_ = false;
    return std::move(ahead_);
  }
  return next();
}

void GrubWords::skip_blanks() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '\\' && text_.substr(at_ + 1).starts_with('\n')) {
      at_ += 2;
    } else if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

GrubToken GrubWords::next() {
  skip_blanks();
  GrubToken token;
  if (at_ >= text_.size()) {
    return token;
  }
  switch (text_[at_]) {
    case '\n':
    case ';':
      token.kind = GrubToken::Kind::CommandEnd;
      ++at_;
      break;
    case '{':
      token.kind = GrubToken::Kind::Open;
      ++at_;
      break;
    case '}':
      token.kind = GrubToken::Kind::Close;
      ++at_;
      break;
    default:
      token.kind = GrubToken::Kind::Word;
      token.word = word();
  }
  return token;
}

GrubWord GrubWords::word() {
  GrubWord word;
  while (at_ < text_.size() && !ends_word(text_[at_])) {
    const char c = text_[at_];
    if (c == '\'') {
      single_quoted(word);
    } else if (c == '"') {
      double_quoted(word);
    } else if (c == '$') {
      variable(word, false);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      ++at_;
      if (text_[at_] != '\n') {
        add(word, text_[at_], true);
      }
      ++at_;
    } else {
      add(word, c, false);
      ++at_;
    }
  }
  return word;
}

void GrubWords::add(GrubWord& word, char c, bool quoted) {
  if (word.parts.empty() || word.parts.back().is_variable) {
    word.parts.push_back(GrubWord::Part{false, quoted, {}});
  }
  word.parts.back().text += c;
  word.parts.back().is_quoted = word.parts.back().is_quoted || quoted;
}

void GrubWords::variable(GrubWord& word, bool quoted) {
  ++at_;  // '$'
  const bool braced = at_ < text_.size() && text_[at_] == '{';
  at_ += braced ? 1 : 0;
  const std::size_t begin = at_;
  const auto is_special = [](char c) { return c == '?' || c == '#' || c == '*' || c == '@'; };
  if (at_ < text_.size() && is_special(text_[at_])) {
    ++at_;
  } else {
    while (at_ < text_.size() && is_name(text_[at_])) {
      ++at_;
    }
  }
  const std::string name(text_.substr(begin, at_ - begin));
  if (braced && at_ < text_.size() && text_[at_] == '}') {
    ++at_;
  }
  if (name.empty()) {
    add(word, '$', quoted);
  } else {
    word.parts.push_back(GrubWord::Part{true, quoted, name});
  }
}

void GrubWords::single_quoted(GrubWord& word) {
  ++at_;
  if (word.parts.empty()) {
    word.parts.push_back(GrubWord::Part{false, true, {}});  // '' is a word of no characters
  }
  for (; at_ < text_.size() && text_[at_] != '\''; ++at_) {
    add(word, text_[at_], true);
  }
  at_ += at_ < text_.size() ? 1 : 0;
}

void GrubWords::double_quoted(GrubWord& word) {
  ++at_;
  if (word.parts.empty()) {
    word.parts.push_back(GrubWord::Part{false, true, {}});
  }
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '$') {
      variable(word, true);
      continue;
    }
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      const char escaped = text_[at_ + 1];
      if (escaped == '$' || escaped == '"' || escaped == '\\') {
        ++at_;
      } else if (escaped == '\n') {
        at_ += 2;
        continue;
      }
    }
    add(word, text_[at_], true);
    ++at_;
  }
  at_ += at_ < text_.size() ? 1 : 0;
}

}  // namespace gpuskew
