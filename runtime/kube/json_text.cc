#include "runtime/kube/json_text.h"

#include <functional>

namespace gpuskew {
namespace {

tl::unexpected<Error> broken() {
  return fail(ErrorCode::Malformed, "the server's answer is broken JSON");
}

bool is_space(char character) {
  return character == ' ' || character == '\n' || character == '\r' || character == '\t';
}

std::size_t after_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) {
    ++at;
  }
  return at;
}

/// Past the string whose quote is at `at`; npos when it does not end.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (;;) {
    at = text.find('"', at + 1);
    if (at == std::string_view::npos) {
      return at;
    }
    std::size_t slashes = 0;
    while (text[at - 1 - slashes] == '\\') {
      ++slashes;
    }
    if (slashes % 2 == 0) {
      return at + 1;
    }
  }
}

/// Past the value at `at`. Only its extent is right: what is in it is parsed, or cut out, later.
Result<std::size_t> after_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    switch (text[at]) {
      case '"':
        at = after_string(text, at);
        if (at == std::string_view::npos) {
          return broken();
        }
        if (depth == 0) {
          return at;
        }
        continue;
      case '{':
      case '[':
        if (++depth > kMaxJsonDepth) {
          return fail(ErrorCode::TooLarge, "the server's answer is nested too deep");
        }
        break;
      case '}':
      case ']':
        if (depth == 0) {
          return at;
        }
        if (--depth == 0) {
          return at + 1;
        }
        break;
      case ',':
        if (depth == 0) {
          return at;
        }
        break;
      default:
        break;
    }
    ++at;
  }
  if (depth != 0) {
    return broken();
  }
  return at;
}

struct Member {
  std::string_view key;    ///< as it is written
  std::string_view value;  ///< its text
  std::size_t begin = 0;   ///< of the key's quote
  std::size_t end = 0;     ///< past the value
};

/// Every member of the object whose text this is.
Result<void> each_member(std::string_view text, const std::function<void(const Member&)>& take) {
  std::size_t at = after_space(text, 0);
  if (at >= text.size() || text[at] != '{') {
    return broken();
  }
  at = after_space(text, at + 1);
  while (at < text.size() && text[at] == '"') {
    Member member;
    member.begin = at;
    const std::size_t key_end = after_string(text, at);
    const std::size_t colon = key_end == std::string_view::npos ? key_end : after_space(text, key_end);
    if (colon >= text.size() || text[colon] != ':') {
      return broken();
    }
    member.key = text.substr(at + 1, key_end - at - 2);
    const std::size_t value = after_space(text, colon + 1);
    const auto end = after_value(text, value);
    if (!end) {
      return tl::unexpected(end.error());
    }
    member.end = *end;
    member.value = text.substr(value, *end - value);
    while (!member.value.empty() && is_space(member.value.back())) {
      member.value.remove_suffix(1);
    }
    take(member);
    at = after_space(text, *end);
    if (at < text.size() && text[at] == ',') {
      at = after_space(text, at + 1);
    }
  }
  if (at >= text.size() || text[at] != '}') {
    return broken();
  }
  return {};
}

Result<std::optional<Member>> find_member(std::string_view text, std::string_view key) {
  std::optional<Member> found;
  const auto read = each_member(text, [&found, key](const Member& member) {
    if (member.key == key) {
      found = member;
    }
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  return found;
}

/// The text without one member, and the comma that belongs to it.
std::string without(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t behind = after_space(text, end);
  if (behind < text.size() && text[behind] == ',') {
    end = behind + 1;
  } else {
    std::size_t before = begin;
    while (before > 0 && is_space(text[before - 1])) {
      --before;
    }
    begin = before > 0 && text[before - 1] == ',' ? before - 1 : begin;
  }
  std::string left;
  left.reserve(text.size() - (end - begin));
  left.append(text.substr(0, begin));
  left.append(text.substr(end));
  return left;
}

}  // namespace

Result<KubeListPage> split_list_page(std::string_view text) {
  std::string_view items;
  std::string_view metadata;
  bool has_items = false;
  const auto read = each_member(text, [&](const Member& member) {
    if (member.key == "items") {
      items = member.value;
      has_items = true;
    } else if (member.key == "metadata") {
      metadata = member.value;
    }
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  const bool is_empty = items == "null";
  if (!has_items || metadata.empty() || (!is_empty && !items.starts_with('['))) {
    return fail(ErrorCode::Malformed, "the server's answer is no list of Kubernetes objects");
  }
  const auto head = parse_json(metadata);
  if (!head) {
    return tl::unexpected(head.error());
  }
  KubeListPage page;
  page.items = is_empty ? std::string_view() : items.substr(1, items.size() - 2);
  page.continue_token = text_at(*head, {"continue"});
  page.resource_version = text_at(*head, {"resourceVersion"});
  return page;
}

Result<std::optional<std::string_view>> next_item(std::string_view& items) {
  std::size_t at = after_space(items, 0);
  if (at < items.size() && items[at] == ',') {
    at = after_space(items, at + 1);
  }
  if (at == items.size()) {
    return std::optional<std::string_view>();
  }
  const auto end = after_value(items, at);
  if (!end) {
    return tl::unexpected(end.error());
  }
  if (*end == at) {
    return broken();
  }
  const std::string_view item = items.substr(at, *end - at);
  items.remove_prefix(*end);
  return std::optional(item);
}

Result<nlohmann::json> parse_json(std::string_view text) {
  const std::size_t begin = after_space(text, 0);
  const auto end = after_value(text, begin);  // nlohmann parses to any depth, and some of its users recurse
  if (!end) {
    return tl::unexpected(end.error());
  }
  auto parsed = nlohmann::json::parse(text.data() + begin, text.data() + text.size(), nullptr, false);
  if (parsed.is_discarded()) {
    return broken();
  }
  return parsed;
}

Result<nlohmann::json> parse_object(std::string_view text, bool keep_managed_fields) {
  std::string shorter;
  if (!keep_managed_fields) {
    const auto metadata = find_member(text, "metadata");
    if (!metadata) {
      return tl::unexpected(metadata.error());
    }
    if (*metadata && (*metadata)->value.starts_with('{')) {
      const auto fields = find_member((*metadata)->value, "managedFields");
      if (!fields) {
        return tl::unexpected(fields.error());
      }
      if (*fields) {
        const auto offset = static_cast<std::size_t>((*metadata)->value.data() - text.data());
        shorter = without(text, offset + (*fields)->begin, offset + (*fields)->end);
        text = shorter;
      }
    }
  }
  auto parsed = parse_json(text);
  if (parsed && !parsed->is_object()) {
    return broken();
  }
  return parsed;
}

Result<KubeWatchLine> parse_watch_line(std::string_view text, bool keep_managed_fields) {
  std::string_view type;
  std::string_view object;
  const auto read = each_member(text, [&](const Member& member) {
    if (member.key == "type") {
      type = member.value;
    } else if (member.key == "object") {
      object = member.value;
    }
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  auto parsed = parse_object(object, keep_managed_fields);
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  if (type.size() < 3 || type.front() != '"') {
    return broken();
  }
  KubeWatchLine line;
  line.type = type.substr(1, type.size() - 2);
  line.object = std::move(*parsed);
  return line;
}

std::string text_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys) {
  const nlohmann::json* at = &value;
  for (const std::string_view key : keys) {
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (found == at->end()) {
      return "";
    }
    at = &*found;
  }
  return at->is_string() ? at->get_ref<const std::string&>() : std::string();
}

}  // namespace gpuskew
