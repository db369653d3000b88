#include "agent/probes/toml.h"

#include <algorithm>
#include <optional>
#include <utility>

// Here only, and whole: the distribution's shared library of it would cost the agent two megabytes of its eight.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace gpuskew {
namespace {

std::string at_line(const std::string& file, std::uint32_t line) {
  return file + ":" + std::to_string(line) + ": ";
}

// The dots outside quotes of each line. Every part of a key is a level of recursion in the parser, and a file of dots
// would be thousands of them. Dots in numbers count too; no real line has as many.
std::optional<std::uint32_t> line_of_endless_key(std::string_view text) {
  std::uint32_t line = 1;
  std::size_t dots = 0;
  char quote = '\0';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      dots = 0;
      quote = '\0';
    } else if (quote != '\0') {
      at += c == '\\' && quote == '"' ? 1 : 0;
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '.' && ++dots == kMaxTomlKeyParts) {
      return line;
    }
  }
  return std::nullopt;
}

class Flattener {
 public:
  explicit Flattener(const std::string& file) : file_(file) {}

  Result<void> add(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (settings_.size() == kMaxTomlSettings) {
        return fail(ErrorCode::TooLarge, file_ + ": more than " + std::to_string(kMaxTomlSettings) + " settings");
      }
      path_.emplace_back(key.str());
      settings_.push_back(setting(node));
      if (const toml::table* inner = node.as_table()) {
        if (auto added = add(*inner); !added) {
          return added;
        }
      }
      path_.pop_back();
    }
    return {};
  }

  std::vector<TomlSetting> take() && { return std::move(settings_); }

 private:
  TomlSetting setting(const toml::node& node) const {
    TomlSetting made{path_, TomlOther{}, node.source().begin.line};
    if (node.is_table()) {
      made.value = TomlTable{};
    } else if (const auto* text = node.as_string()) {
      made.value = text->get();
    } else if (const auto* truth = node.as_boolean()) {
      made.value = truth->get();
    } else if (const auto* number = node.as_integer()) {
      made.value = number->get();
    } else if (const auto* array = node.as_array()) {
      std::vector<std::string> texts;
      for (const auto& each : *array) {
        if (const auto* item = each.as_string()) {
          texts.push_back(item->get());
        }
      }
      if (texts.size() == array->size()) {
        made.value = std::move(texts);
      }
    }
    return made;
  }

  const std::string& file_;
  TomlPath path_;
  std::vector<TomlSetting> settings_;
};

bool is_bare(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

Result<std::vector<TomlSetting>> parse_toml(const std::string& file, std::string_view text) {
  if (text.size() > kMaxTomlBytes) {
    return fail(ErrorCode::TooLarge, file + ": more than " + std::to_string(kMaxTomlBytes) + " bytes");
  }
  if (const auto line = line_of_endless_key(text)) {
    return fail(ErrorCode::TooLarge,
                at_line(file, *line) + "a key of more than " + std::to_string(kMaxTomlKeyParts) + " parts");
  }
  const toml::parse_result parsed = toml::parse(text, std::string_view(file));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::Malformed,
                at_line(file, error.source().begin.line) + "not TOML: " + in_quotes(error.description()));
  }
  Flattener flattener(file);
  if (const auto added = flattener.add(parsed.table()); !added) {
    return tl::unexpected(added.error());
  }
  return std::move(flattener).take();
}

std::string to_text(const TomlPath& path) {
  std::string text;
  for (const std::string& part : path) {
    text += text.empty() ? "" : ".";
    std::string shown = part;
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    text += is_bare(part) ? shown : "'" + shown + "'";
  }
  return text;
}

}  // namespace gpuskew
