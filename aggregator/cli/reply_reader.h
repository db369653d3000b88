#pragma once

// Reads an object of the API field by field. A field that is missing or of another type is the reply's fault, not a
// default: the first such is remembered, and every read after it gives an empty value that nobody looks at.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/fact.h"
#include "core/time.h"

namespace gpuskew {

class ReplyReader {
 public:
  using Json = nlohmann::ordered_json;

  /// Both must outlive the reader. `what` begins every field's name in an error: "nodes[3]".
  ReplyReader(const Json& object, std::string what, std::optional<Error>& first_error);

  /// Text is made printable on the way in.
  std::string text(std::string_view key);
  std::optional<std::string> text_or_null(std::string_view key);
  bool boolean(std::string_view key);
  std::uint64_t number(std::string_view key);
  Time time(std::string_view key);
  std::optional<Time> time_or_null(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  /// A fact whose value reads as text: see text_of_value.
  Fact<std::string> fact(std::string_view key);
  /// The member itself, an empty object when it is missing.
  const Json& object(std::string_view key);
  const Json& array(std::string_view key);
  /// nullptr when it is missing or null.
  const Json* find(std::string_view key) const;

  /// "nodes[3].state"
  std::string name_of(std::string_view key) const;
  void complain(std::string_view key, std::string_view what);

 private:
  const Json& object_;
  std::string what_;
  std::optional<Error>& first_error_;
};

/// What a person reads for a fact's value: text as it is, the size of a list, an OS by its pretty name.
std::string text_of_value(const nlohmann::ordered_json& value);
/// Reads the form of proto/json.h; nullopt when it is not one.
std::optional<Fact<std::string>> fact_from_json(const nlohmann::ordered_json& value);

}  // namespace gpuskew
