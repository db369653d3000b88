#pragma once

// The words an enumeration goes by outside this process: one table, both directions.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuskew {

template <class Enum, std::size_t kSize>
using NameTable = std::array<std::pair<Enum, std::string_view>, kSize>;

/// "unknown" for a value the table lacks: a bug, but no reason to crash where it is shown.
template <class Enum, std::size_t kSize>
constexpr std::string_view name_of(const NameTable<Enum, kSize>& table, Enum value) {
  for (const auto& [each, name] : table) {
    if (each == value) {
      return name;
    }
  }
  return "unknown";
}

template <class Enum, std::size_t kSize>
constexpr std::optional<Enum> value_of(const NameTable<Enum, kSize>& table, std::string_view text) {
  for (const auto& [value, name] : table) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace gpuskew
