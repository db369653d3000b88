#include "aggregator/cli/reply_reader.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "aggregator/cli/screen_text.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

const Json& empty_object() {
  static const Json empty = Json::object();
  return empty;
}

const Json& empty_array() {
  static const Json empty = Json::array();
  return empty;
}

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_member(const Json& object, std::string_view key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_string() ? printable(found->get_ref<const std::string&>()) : std::string();
}

}  // namespace

std::string text_of_value(const Json& value) {
  if (value.is_string()) {
    return printable(value.get_ref<const std::string&>());
  }
  if (value.is_array()) {
    return std::to_string(value.size());
  }
  if (!value.is_object()) {
    return value.dump();
  }
  std::string pretty_name = text_member(value, "pretty_name");
  if (!pretty_name.empty()) {
    return pretty_name;
  }
  const std::string version = text_member(value, "version_id");
  return text_member(value, "id") + (version.empty() ? "" : " " + version);
}

std::optional<Fact<std::string>> fact_from_json(const Json& value) {
  const std::string state = text_member(value, "state");
  std::string source = text_member(value, "source");
  const Json* known = member(value, "value");
  if (state == "known" && known != nullptr) {
    return Fact<std::string>::known(text_of_value(*known), std::move(source));
  }
  if (state == "absent") {
    return Fact<std::string>::absent(std::move(source));
  }
  if (state == "unknown") {
    return Fact<std::string>::unknown(Error{ErrorCode::Internal, text_member(value, "because")}, std::move(source));
  }
  return std::nullopt;
}

ReplyReader::ReplyReader(const Json& object, std::string what, std::optional<Error>& first_error)
    : object_(object), what_(std::move(what)), first_error_(first_error) {}

std::string ReplyReader::name_of(std::string_view key) const {
  return what_.empty() ? std::string(key) : what_ + "." + std::string(key);
}

void ReplyReader::complain(std::string_view key, std::string_view what) {
  if (!first_error_) {
    first_error_ = Error{ErrorCode::Malformed, name_of(key) + " " + std::string(what)};
  }
}

const Json* ReplyReader::find(std::string_view key) const {
  return member(object_, key);
}

std::string ReplyReader::text(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr || !found->is_string()) {
    complain(key, found == nullptr ? "is missing" : "is not text");
    return {};
  }
  return printable(found->get_ref<const std::string&>());
}

std::optional<std::string> ReplyReader::text_or_null(std::string_view key) {
  if (find(key) == nullptr) {
    return std::nullopt;
  }
  return text(key);
}

bool ReplyReader::boolean(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr || !found->is_boolean()) {
    complain(key, found == nullptr ? "is missing" : "is neither true nor false");
    return false;
  }
  return found->get<bool>();
}

std::uint64_t ReplyReader::number(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr || !found->is_number_unsigned()) {
    complain(key, found == nullptr ? "is missing" : "is not a count");
    return 0;
  }
  return found->get<std::uint64_t>();
}

Time ReplyReader::time(std::string_view key) {
  const std::string value = text(key);
  const Result<Time> parsed = parse_rfc3339(value);
  if (!parsed) {
    complain(key, "is not a time");
    return {};
  }
  return *parsed;
}

std::optional<Time> ReplyReader::time_or_null(std::string_view key) {
  if (find(key) == nullptr) {
    return std::nullopt;
  }
  return time(key);
}

std::vector<std::string> ReplyReader::texts(std::string_view key) {
  std::vector<std::string> all;
  for (const Json& item : array(key)) {
    if (!item.is_string()) {
      complain(key, "holds something that is not text");
      break;
    }
    all.push_back(printable(item.get_ref<const std::string&>()));
  }
  return all;
}

Fact<std::string> ReplyReader::fact(std::string_view key) {
  const Json* found = find(key);
  const auto read = found == nullptr ? std::nullopt : fact_from_json(*found);
  if (!read) {
    complain(key, found == nullptr ? "is missing" : "is not a fact");
    return {};
  }
  return *read;
}

const Json& ReplyReader::object(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr || !found->is_object()) {
    complain(key, found == nullptr ? "is missing" : "is not an object");
    return empty_object();
  }
  return *found;
}

const Json& ReplyReader::array(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr || !found->is_array()) {
    complain(key, found == nullptr ? "is missing" : "is not a list");
    return empty_array();
  }
  return *found;
}

}  // namespace gpuskew
