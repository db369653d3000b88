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
    has_nul_ = has_nul_ || c == '\0';
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
  } else if (in_string_) {
    look_at(text_);
  }
}

std::string CdiSpecScanner::problem() const {
  if (form_ == Form::Unknown) {
    return "it is empty";
  }
  if (has_nul_) {
    return "it holds NUL bytes";
  }
  if (form_ == Form::Json && !is_broken_ && !has_ended_) {
    return "it ends in the middle of its JSON";
  }
  if (is_broken_) {
    return "its JSON goes on behind its end";
  }
  if (is_stray_) {
    return "a line in it is no YAML";
  }
  if (kind_.find('/') == std::string::npos) {
    return kind_.empty() ? "it has no kind" : "its kind is no vendor and class";
  }
  return has_devices_ ? "" : "it has no devices";
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
  if (has_ended_) {
    is_broken_ = is_broken_ || (c != ' ' && c != '\t' && c != '\r' && c != '\n');
    return;
  }
  switch (c) {
    case '"':
      in_string_ = true;
      text_.clear();
      break;
    case ':':
      top_key_ = depth_ == 1 ? last_string_ : top_key_;
      has_devices_ = has_devices_ || (depth_ == 1 && top_key_ == "devices");
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
      has_ended_ = depth_ == 0;
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
  look_at(text_);
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
    has_devices_ = has_devices_ || (section_ == "devices" && colon != std::string_view::npos);
    // A directive, a document's mark, the end of a list in brackets.
    const bool is_mark =
        line.starts_with("---") || line.starts_with("...") || line.find_first_of("%]}") == 0 || section_.empty();
    is_stray_ = is_stray_ || (colon == std::string_view::npos && !is_mark);
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
  look_at(line);
  text_.clear();
}

void CdiSpecScanner::look_at(std::string_view text) {
  names_nvidia_ = names_nvidia_ || text.find("nvidia") != std::string_view::npos;
  if (cuda_.empty()) {
    cuda_ = version_behind(text, "libcuda.so.");
  }
  if (ml_.empty()) {
    ml_ = version_behind(text, "libnvidia-ml.so.");
  }
}

}  // namespace gpuskew
