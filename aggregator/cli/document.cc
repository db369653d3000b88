#include "aggregator/cli/document.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/cli/screen_text.h"
#include "proto/json.h"

namespace gpuskew {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kIndent = 2;

/// Inside JSON text such characters stand only in strings, where \uXXXX means the same. (Newlines between members
/// are ours, and dump has escaped every other one below 0x20.)
std::string escape_for_terminal(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const CodePoint point = code_point_at(json, at);
    if (point.value >= 0x7f && acts_on_terminal(point.value)) {
      std::array<char, 16> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(point.value));
      out += escape.data();
    } else {
      out += json.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_plain_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
}

/// Words that some YAML version takes for a boolean or null.
bool is_reserved_word(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  std::string lower(text);
  for (char& c : lower) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

/// A letter first rules out numbers, dates and every YAML indicator; a JSON string is also a YAML one.
std::string yaml_string(const std::string& text) {
  const bool plain = !text.empty() && is_letter(text.front()) &&
                     std::all_of(text.begin(), text.end(), is_plain_character) && !is_reserved_word(text);
  return plain ? text : escape_for_terminal(dump(ordered_json(text), false));
}

std::string yaml_scalar(const ordered_json& value) {
  if (value.is_object()) {
    return "{}";
  }
  if (value.is_array()) {
    return "[]";
  }
  return value.is_string() ? yaml_string(value.get_ref<const std::string&>()) : dump(value, false);
}

bool is_block(const ordered_json& value) {
  return value.is_structured() && !value.empty();
}

// The reader bounds how deep a reply may nest, and with it this recursion.
void append_yaml(std::string& out, const ordered_json& value, std::size_t indent);

void append_yaml_object(std::string& out, const ordered_json& object, std::size_t indent) {
  for (const auto& [key, member] : object.items()) {
    out.append(indent, ' ');
    out += yaml_string(key) + ':';
    if (is_block(member)) {
      out += '\n';
      append_yaml(out, member, indent + kIndent);
    } else {
      out += ' ' + yaml_scalar(member) + '\n';
    }
  }
}

void append_yaml_array(std::string& out, const ordered_json& array, std::size_t indent) {
  for (const ordered_json& item : array) {
    if (!is_block(item)) {
      out.append(indent, ' ');
      out += "- " + yaml_scalar(item) + '\n';
      continue;
    }
    // The item's first line starts behind its dash, in place of its indentation.
    const std::size_t start = out.size();
    append_yaml(out, item, indent + kIndent);
    out[start + indent] = '-';
  }
}

void append_yaml(std::string& out, const ordered_json& value, std::size_t indent) {
  if (value.is_object()) {
    append_yaml_object(out, value, indent);
  } else {
    append_yaml_array(out, value, indent);
  }
}

}  // namespace

std::string to_json_text(const ordered_json& value) {
  return escape_for_terminal(dump(value, true)) + '\n';
}

std::string to_yaml_text(const ordered_json& value) {
  if (!is_block(value)) {
    return yaml_scalar(value) + '\n';
  }
  std::string out;
  append_yaml(out, value, 0);
  return out;
}

}  // namespace gpuskew
