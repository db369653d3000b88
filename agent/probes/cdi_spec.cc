#include "agent/probes/cdi_spec.h"

#include <algorithm>

namespace gpuskew {
namespace {

constexpr std::size_t kMaxText = 1024;  // of a line or string: longer ones are cut
constexpr std::string_view kDigits = "0123456789";

// "550.90.07" behind `library`, with at least one dot; "" when it is not there.
std::string version_behind(std::string_view text, std::string_view library) {
  for (std::size_t at = text.find(library); at != std::string_view::npos; at = text.find(library, at + 1)) {
    const std::string_view rest = text.substr(at + library.size());
    std::string_view version = rest.substr(0, std::min(rest.find_first_not_of("0123456789."), rest.size()));
    while (version.ends_with('.')) {
      version.remove_suffix(1);
    }
    // libcuda.so.1 is a link's name, and libcuda.so.1.1 Jetson's library.
    if (version.find_first_of(kDigits) == 0 && version.find('.') >= 3 && version.find('.') != std::string_view::npos) {
      return std::string(version);
    }
  }
  return "";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\"'";
  const std::size_t begin = text.find_first_not_of(kAround);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kAround) - begin + 1);
}

}  // namespace

void CdiSpecScanner::feed(std::string_view block) {
  for (const char c : block) {
    if (form_ == Form::Unknown) {
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        continue;
      }
      form_ = c == '{' ? Form::Json : Form::Yaml;
    }
    form_ == Form::Json ? take_json(c) : take_yaml(c);
  }
}

void CdiSpecScanner::finish() {
  if (form_ == Form::Yaml) {
    end_yaml_line();
  }
}

void CdiSpecScanner::take_json(char c) {
  if (in_string_) {
    const bool ends = c == '"' && !escaped_;
    escaped_ = c == '\\' && !escaped_;
    if (ends) {
      end_json_string();
    } else if (text_.size() < kMaxText) {
      text_ += c;
    }
    return;
  }
  switch (c) {
    case '"':
      in_string_ = true;
      text_.clear();
      break;
    case ':':
      top_key_ = depth_ == 1 ? last_string_ : top_key_;
      break;
    case '{':
    case '[':
      // {"devices": [ { : the third level opens once for each device.
      devices_ += c == '{' && depth_ == 2 && top_key_ == "devices" ? 1 : 0;
      ++depth_;
      break;
    case '}':
    case ']':
      depth_ -= depth_ > 0 ? 1 : 0;
      break;
    case ',':
      top_key_ = depth_ == 1 ? std::string() : top_key_;
      break;
    default:
      break;
  }
}

void CdiSpecScanner::end_json_string() {
  in_string_ = false;
  if (depth_ == 1 && top_key_ == "kind" && kind_.empty()) {
    kind_ = text_;
  }
  find_versions(text_);
  last_string_ = text_;
}

void CdiSpecScanner::take_yaml(char c) {
  if (c == '\n') {
    end_yaml_line();
  } else if (text_.size() < kMaxText) {
    text_ += c;
  }
}

void CdiSpecScanner::end_yaml_line() {
  const std::string_view line = text_;
  const std::size_t indent = line.find_first_not_of(' ');
  const bool is_item = indent != std::string_view::npos && line.substr(indent, 2) == "- ";
  if (indent == 0 && !is_item && line.front() != '#') {
    const std::size_t colon = line.find(':');
    section_ = trimmed(line.substr(0, colon));
    has_item_ = false;
    if (section_ == "kind" && kind_.empty() && colon != std::string_view::npos) {
      std::string_view value = line.substr(colon + 1);
      value = value.substr(0, value.find(" #"));
      kind_ = trimmed(value);
    }
  } else if (is_item && section_ == "devices") {
    item_indent_ = has_item_ ? item_indent_ : indent;
    has_item_ = true;
    devices_ += indent == item_indent_ ? 1 : 0;
  }
  find_versions(line);
  text_.clear();
}

void CdiSpecScanner::find_versions(std::string_view text) {
  if (cuda_.empty()) {
    cuda_ = version_behind(text, "libcuda.so.");
  }
  if (ml_.empty()) {
    ml_ = version_behind(text, "libnvidia-ml.so.");
  }
}

}  // namespace gpuskew
