// TOML 1.0, read once from the front. Written for this because the library at hand runs into undefined behaviour on
// broken text, and recurses as deep as a file asks it to. It is as strict about what stands twice as the runtimes are
// (they do not start then); dates and fractions, which mean nothing here, are only told from rubbish.

#include "agent/probes/toml.h"

#include <algorithm>
#include <map>
#include <utility>

#include "agent/probes/toml_cursor.h"
#include "core/printable.h"
#include "proto/text.h"

namespace gpuskew {
namespace {

constexpr int kMaxNesting = 16;  // of arrays and tables in one value

enum class Defined : std::uint8_t {
  Implied,  ///< a table because one inside it has a header
  Dotted,   ///< a table by keys with dots
  Header,
  List,  ///< by [[headers]]
  Value,
};

class TomlReader {
 public:
  TomlReader(const std::string& file, std::string_view text) : cursor_(file, text) {}

  Result<std::vector<TomlSetting>> read() {
    cursor_.take("\xef\xbb\xbf");  // a byte order mark
    for (cursor_.skip_lines(); !cursor_.at_end(); cursor_.skip_lines()) {
      auto line = cursor_.peek() == '[' ? header() : pair(table_, in_list_);
      if (line) {
        line = cursor_.end_line();
      }
      if (!line) {
        return tl::unexpected(line.error());
      }
    }
    return std::move(settings_);
  }

 private:
  using Value = decltype(TomlSetting::value);

  Result<void> header() {
    const std::uint32_t line = cursor_.line();
    cursor_.take('[');
    const bool is_list = cursor_.take('[');
    auto path = cursor_.key();
    if (!path) {
      return tl::unexpected(path.error());
    }
    if (!cursor_.take(is_list ? std::string_view("]]") : std::string_view("]"))) {
      return cursor_.malformed("a table's header without its end");
    }
    table_ = std::move(*path);
    in_list_ = false;
    for (std::size_t size = 1; size < table_.size(); ++size) {
      const TomlPath above(table_.begin(), table_.begin() + static_cast<std::ptrdiff_t>(size));
      const auto known = defined_.find(above);
      if (known != defined_.end() && known->second == Defined::Value) {
        return cursor_.malformed("a table inside what is no table: " + to_text(above));
      }
      in_list_ = in_list_ || (known != defined_.end() && known->second == Defined::List);
      if (known == defined_.end()) {
        defined_.emplace(above, Defined::Implied);
        if (auto added = add(above, TomlTable{}, line, in_list_); !added) {
          return added;
        }
      }
    }
    return is_list ? list_header(line) : table_header(line);
  }

  Result<void> table_header(std::uint32_t line) {
    const auto known = defined_.find(table_);
    if (known != defined_.end() && known->second != Defined::Implied) {
      return cursor_.malformed("a second table or value " + to_text(table_));
    }
    defined_[table_] = Defined::Header;
    return known != defined_.end() ? Result<void>() : add(table_, TomlTable{}, line, in_list_);
  }

  // Each header is another element, in which everything may be set again.
  Result<void> list_header(std::uint32_t line) {
    const auto known = defined_.find(table_);
    if (known != defined_.end() && known->second != Defined::List) {
      return cursor_.malformed("a second table or value " + to_text(table_));
    }
    const bool is_new = known == defined_.end();
    auto after = defined_.upper_bound(table_);
    while (after != defined_.end() && after->first.size() > table_.size() &&
           std::equal(table_.begin(), table_.end(), after->first.begin())) {
      after = defined_.erase(after);
    }
    defined_[table_] = Defined::List;
    auto added = is_new ? add(table_, TomlOther{}, line, in_list_) : Result<void>();
    in_list_ = true;
    return added;
  }

  // One "key = value" in `table`. Inside arrays nothing is kept.
  Result<void> pair(const TomlPath& table, bool in_list, int nesting = 0) {
    const std::uint32_t line = cursor_.line();
    auto key = cursor_.key();
    if (!key) {
      return tl::unexpected(key.error());
    }
    if (!cursor_.take('=')) {
      return cursor_.malformed("no '=' behind a key");
    }
    if (table.size() + key->size() > kMaxTomlKeyParts) {
      return cursor_.too_large("a key of more than " + std::to_string(kMaxTomlKeyParts) + " parts");
    }
    TomlPath path = table;
    for (std::size_t part = 0; part + 1 < key->size(); ++part) {
      path.push_back((*key)[part]);
      const auto known = defined_.find(path);
      if (known != defined_.end() && known->second != Defined::Dotted && known->second != Defined::Implied) {
        return cursor_.malformed("a second table or value " + to_text(path));
      }
      if (known == defined_.end()) {
        defined_.emplace(path, Defined::Dotted);
        if (auto added = add(path, TomlTable{}, line, in_list); !added) {
          return added;
        }
      }
    }
    path.push_back(key->back());
    if (!defined_.emplace(path, Defined::Value).second) {
      return cursor_.malformed("a second table or value " + to_text(path));
    }
    cursor_.skip_blanks();
    return cursor_.peek() == '{' ? inline_table(path, line, in_list, nesting)
                                 : plain_pair(path, line, in_list, nesting);
  }

  Result<void> plain_pair(const TomlPath& path, std::uint32_t line, bool in_list, int nesting) {
    auto read = value(nesting);
    return read ? add(path, std::move(*read), line, in_list) : tl::unexpected(read.error());
  }

  Result<void> inline_table(const TomlPath& path, std::uint32_t line, bool in_list, int nesting) {
    if (nesting == kMaxNesting) {
      return cursor_.too_large("values nested deeper than " + std::to_string(kMaxNesting));
    }
    if (auto added = add(path, TomlTable{}, line, in_list); !added) {
      return added;
    }
    cursor_.take('{');
    cursor_.skip_blanks();
    if (cursor_.take('}')) {
      return {};
    }
    do {
      if (auto read = pair(path, in_list, nesting + 1); !read) {
        return read;
      }
      cursor_.skip_blanks();
    } while (cursor_.take(','));
    return cursor_.take('}') ? Result<void>() : cursor_.malformed("an inline table without its end");
  }

  Result<Value> value(int nesting) {
    const char first = cursor_.peek();
    if (first == '"' || first == '\'') {
      auto text = cursor_.quoted();
      return text ? Result<Value>(std::move(*text)) : tl::unexpected(text.error());
    }
    return first == '[' ? array(nesting) : cursor_.bare_value();
  }

  Result<Value> array(int nesting) {
    if (nesting == kMaxNesting) {
      return cursor_.too_large("values nested deeper than " + std::to_string(kMaxNesting));
    }
    cursor_.take('[');
    std::vector<std::string> texts;
    bool only_texts = true;
    for (cursor_.skip_lines(); !cursor_.take(']'); cursor_.skip_lines()) {
      auto item = element(nesting + 1);
      if (!item) {
        return item;
      }
      if (auto* text = std::get_if<std::string>(&*item)) {
        texts.push_back(std::move(*text));
      } else {
        only_texts = false;
      }
      cursor_.skip_lines();
      if (!cursor_.take(',') && cursor_.peek() != ']') {
        return cursor_.malformed("an array without its end");
      }
    }
    return only_texts ? Result<Value>(std::move(texts)) : Result<Value>(TomlOther{});
  }

  Result<Value> element(int nesting) {
    if (cursor_.peek() != '{') {
      return value(nesting);
    }
    // A table of its own for each element, whose keys are known to nobody else.
    std::map<TomlPath, Defined> outside;
    outside.swap(defined_);
    const auto read = inline_table({}, cursor_.line(), true, nesting);
    outside.swap(defined_);
    return read ? Result<Value>(TomlOther{}) : tl::unexpected(read.error());
  }

  Result<void> add(const TomlPath& path, Value value, std::uint32_t line, bool in_list) {
    if (++count_ > kMaxTomlSettings) {
      return cursor_.too_large("more than " + std::to_string(kMaxTomlSettings) + " settings");
    }
    if (!in_list) {
      settings_.push_back({path, std::move(value), line});
    }
    return {};
  }

  TomlCursor cursor_;
  TomlPath table_;
  bool in_list_ = false;
  std::map<TomlPath, Defined> defined_;
  std::vector<TomlSetting> settings_;
  std::size_t count_ = 0;
};

bool is_bare(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// No control character but tabs and line ends belongs into any part of TOML. npos: there is none.
std::size_t stray_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool line_end = byte == '\n' || (byte == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if (byte == 0x7f || (byte < ' ' && byte != '\t' && !line_end)) {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::vector<TomlSetting>> parse_toml(const std::string& file, std::string_view text) {
  if (text.size() > kMaxTomlBytes) {
    return fail(ErrorCode::TooLarge, file + ": more than " + std::to_string(kMaxTomlBytes) + " bytes");
  }
  if (const std::size_t at = stray_control(text); at != std::string_view::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return fail(ErrorCode::Malformed, file + ":" + std::to_string(line) + ": not TOML: a control character");
  }
  if (!is_utf8(text)) {
    return fail(ErrorCode::Malformed, file + ":1: not TOML: not UTF-8");
  }
  return TomlReader(file, text).read();
}

std::string to_text(const TomlPath& path) {
  std::string text;
  for (const std::string& part : path) {
    text += text.empty() ? "" : ".";
    const std::string shown = ascii_only(part);
    text += is_bare(part) ? shown : "'" + shown + "'";
  }
  return text;
}

}  // namespace gpuskew
