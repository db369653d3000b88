#pragma once

// Numbers in the files of other programs, whatever the byte order and alignment they were written with.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

/// `size` bytes of a file from `offset`; fewer at its end.
using ReadAt = std::function<Result<std::string>(std::uint64_t offset, std::size_t size)>;

/// 0 for a place beyond the end: what reads a number has made sure that its bytes are there.
inline std::uint32_t big_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

inline std::uint32_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i > 0; --i) {
    const std::size_t from = at + i - 1;
    value = (value << 8) | (from < bytes.size() ? static_cast<unsigned char>(bytes[from]) : 0U);
  }
  return value;
}

inline std::uint32_t big_endian32(std::string_view bytes, std::size_t at) {
  return big_endian(bytes, at, sizeof(std::uint32_t));
}
inline std::uint32_t little_endian32(std::string_view bytes, std::size_t at) {
  return little_endian(bytes, at, sizeof(std::uint32_t));
}

/// Exactly `size` bytes; Malformed where the file ends before.
inline Result<std::string> read_exactly(const ReadAt& file, std::uint64_t offset, std::size_t size) {
  auto bytes = file(offset, size);
  if (bytes && bytes->size() != size) {
    return fail(ErrorCode::Malformed,
                "the file ends at byte " + std::to_string(offset + bytes->size()) + ", inside what it should hold");
  }
  return bytes;
}

}  // namespace gpuskew
