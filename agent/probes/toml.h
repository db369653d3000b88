#pragma once

// TOML text as a flat list of what it sets, which is all that merging the files of a container runtime needs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"

namespace gpuskew {

using TomlPath = std::vector<std::string>;

/// A table by itself: "[a.b]" also makes a table of "a".
struct TomlTable {
  bool operator==(const TomlTable&) const = default;
};
/// A number, a date, or an array of anything but text.
struct TomlOther {
  bool operator==(const TomlOther&) const = default;
};

struct TomlSetting {
  TomlPath path;  ///< {"plugins", "io.containerd.grpc.v1.cri", "enable_cdi"}
  std::variant<TomlTable, bool, std::int64_t, std::string, std::vector<std::string>, TomlOther> value;
  std::uint32_t line = 0;

  const std::string* text() const { return std::get_if<std::string>(&value); }
  bool is_table() const { return std::holds_alternative<TomlTable>(value); }
};

inline constexpr std::size_t kMaxTomlBytes = 256u << 10;
inline constexpr std::size_t kMaxTomlSettings = 4096;
/// Parts of one key, with those of its table.
inline constexpr std::size_t kMaxTomlKeyParts = 32;

/// Every table and value in `text` in its order, a table ahead of what is in it; an array of tables is one TomlOther.
/// `file` is for messages: "FILE:LINE: ...". Errors:
/// Malformed, TooLarge (past the limits above).
Result<std::vector<TomlSetting>> parse_toml(const std::string& file, std::string_view text);

/// As a person writes it: plugins.'io.containerd.grpc.v1.cri'.enable_cdi. Bytes that do not print become '?'.
std::string to_text(const TomlPath& path);

}  // namespace gpuskew
