#pragma once

// A JSON value as text for programs: `-o json` and `-o yaml`.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace gpuskew {

/// Two-space indented, one newline at the end. What could act on a terminal is written as \uXXXX.
std::string to_json_text(const nlohmann::ordered_json& value);

/// Block style YAML that reads back as the same values under YAML 1.1 and 1.2: a string that another reader could
/// take for a number, a boolean or a date ("8.10", "no", "2026-11-30") is quoted.
std::string to_yaml_text(const nlohmann::ordered_json& value);

}  // namespace gpuskew
