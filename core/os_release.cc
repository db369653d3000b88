#include "core/os_release.h"

#include <algorithm>
#include <utility>

#include "core/result.h"

namespace gpuskew {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_control(char c) {
  constexpr unsigned char kDelete = 0x7f;
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && c != '\t') || byte == kDelete;
}

std::string_view without_leading_blanks(std::string_view text) {
  const auto start = std::find_if_not(text.begin(), text.end(), is_blank);
  text.remove_prefix(static_cast<std::size_t>(start - text.begin()));
  return text;
}

bool is_key(std::string_view key) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !key.empty() && letter(key.front()) &&
         std::all_of(key.begin(), key.end(), [&](char c) { return letter(c) || digit(c); });
}

tl::unexpected<Error> bad(const char* why) {
  return fail(ErrorCode::Malformed, why);
}

/// A value and what stands behind it on the line.
struct Value {
  std::string text;
  std::string_view rest;
};

/// `text` begins behind the opening quote.
Result<Value> read_double_quoted(std::string_view text) {
  constexpr std::string_view kEscapable = "\\$\"'`";
  Value value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      value.rest = text.substr(i + 1);
      return value;
    }
    const bool escaped =
        text[i] == '\\' && i + 1 < text.size() && kEscapable.find(text[i + 1]) != std::string_view::npos;
    i += escaped ? 1 : 0;
    value.text += text[i];
  }
  return bad("the double quote is not closed");
}

Result<Value> read_single_quoted(std::string_view text) {
  const auto end = text.find('\'');
  if (end == std::string_view::npos) {
    return bad("the single quote is not closed");
  }
  return Value{std::string(text.substr(0, end)), text.substr(end + 1)};
}

Result<Value> read_bare(std::string_view text) {
  Value value;
  std::size_t i = 0;
  for (; i < text.size() && !is_blank(text[i]); ++i) {
    if (text[i] == '"' || text[i] == '\'') {
      return bad("a quote inside an unquoted value");
    }
    if (text[i] == '\\' && ++i == text.size()) {
      return bad("a backslash at the end of the line");
    }
    value.text += text[i];
  }
  value.rest = text.substr(i);
  return value;
}

Result<std::string> read_value(std::string_view text) {
  Result<Value> value = text.starts_with('"')    ? read_double_quoted(text.substr(1))
                        : text.starts_with('\'') ? read_single_quoted(text.substr(1))
                                                 : read_bare(text);
  if (!value) {
    return tl::unexpected(value.error());
  }
  const std::string_view behind = without_leading_blanks(value->rest);
  if (behind.size() == value->rest.size() && !behind.empty()) {
    return bad("something directly behind the closing quote");
  }
  if (!behind.empty() && behind.front() != '#') {
    return bad("more than one word; a value with blanks needs quotes");
  }
  return std::move(value->text);
}

struct Assignment {
  std::string_view key;
  std::string value;
};

/// `line` is neither blank nor a comment.
Result<Assignment> read_assignment(std::string_view line) {
  if (std::any_of(line.begin(), line.end(), is_control)) {
    return bad("a control character");
  }
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) {
    return bad("no '='");
  }
  const std::string_view key = line.substr(0, equals);
  if (!is_key(key)) {
    return fail(ErrorCode::Malformed, in_quotes(key) + " is not a key");
  }
  auto value = read_value(line.substr(equals + 1));
  if (!value) {
    return tl::unexpected(value.error());
  }
  return Assignment{key, std::move(*value)};
}

void note(OsRelease& release, std::size_t line, std::string_view why) {
  if (release.notes.size() + 1 < OsRelease::kMaxNotes) {
    release.notes.push_back("line " + std::to_string(line) + ": " + std::string(why) + ", ignoring the line");
  } else if (release.notes.size() < OsRelease::kMaxNotes) {
    release.notes.push_back("line " + std::to_string(line) + " and maybe more: ignored as well");
  }
}

void take_line(OsRelease& release, std::size_t number, std::string_view line) {
  auto read = read_assignment(line);
  if (!read) {
    note(release, number, read.error().what);
    return;
  }
  const auto known = release.fields.find(read->key);
  if (known != release.fields.end()) {
    known->second = std::move(read->value);
  } else if (release.fields.size() < OsRelease::kMaxFields) {
    release.fields.emplace(read->key, std::move(read->value));
  } else {
    note(release, number, "more than " + std::to_string(OsRelease::kMaxFields) + " keys");
  }
}

}  // namespace

std::optional<std::string> OsRelease::get(std::string_view key) const {
  const auto found = fields.find(key);
  if (found == fields.end()) {
    return std::nullopt;
  }
  return found->second;
}

OsRelease parse_os_release(std::string_view text) {
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  if (text.starts_with(kBom)) {
    text.remove_prefix(kBom.size());
  }
  OsRelease release;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    line = without_leading_blanks(line);
    if (!line.empty() && line.front() != '#') {
      take_line(release, number, line);
    }
  }
  return release;
}

std::optional<OsIdentity> os_identity(const OsRelease& release) {
  auto id = release.get("ID");
  if (!id || id->empty()) {
    return std::nullopt;
  }
  OsIdentity os;
  os.id = std::move(*id);
  os.version_id = release.get("VERSION_ID");
  os.pretty_name = release.get("PRETTY_NAME").value_or("");
  os.variant_id = release.get("VARIANT_ID").value_or("");
  os.build_id = release.get("BUILD_ID").value_or("");
  os.ostree_version = release.get("OSTREE_VERSION").value_or("");
  return os;
}

}  // namespace gpuskew
