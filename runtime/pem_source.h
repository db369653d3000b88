#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace gpuskew {

/// PEM text longer than this is refused.
inline constexpr std::size_t kMaxPemBytes = std::size_t{1} << 20;

/// PEM text in `data`, or the file it is read from. Both empty: none.
struct PemSource {
  std::string data;
  std::filesystem::path file;

  bool is_empty() const { return data.empty() && file.empty(); }
  bool operator==(const PemSource&) const = default;
};

}  // namespace gpuskew
