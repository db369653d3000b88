#include "aggregator/stored_text.h"

#include <optional>

#include <nlohmann/json.hpp>

namespace gpuskew {

std::string open_since_text(const std::map<FindingCode, Time>& open) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [code, since] : open) {
    object[std::string(to_string(code))] = to_unix_ms(since);
  }
  return object.dump();
}

Result<std::map<FindingCode, Time>> open_since_from(std::string_view text) {
  nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return fail(ErrorCode::Malformed, "not a JSON object");
  }
  std::map<FindingCode, Time> open;
  for (const auto& [key, since] : object.items()) {
    if (!since.is_number_integer()) {
      return fail(ErrorCode::Malformed, "the time of \"" + key + "\" is not an integer");
    }
    if (std::optional<FindingCode> code = finding_code_from(key)) {
      open.emplace(*code, from_unix_ms(since.get<std::int64_t>()));
    }
  }
  return open;
}

}  // namespace gpuskew
