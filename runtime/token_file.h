#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace gpuskew {

/// A shorter token could be guessed.
inline constexpr std::size_t kMinTokenBytes = 16;
/// A Kubernetes service account's is 1 to 2 KiB.
inline constexpr std::size_t kMaxTokenBytes = std::size_t{16} << 10;

/// The bearer token in a file, blanks and line ends around it taken off. Errors: NotFound, Denied; Malformed (shorter
/// than kMinTokenBytes, more than one word, not printable ASCII); TooLarge. They never hold the token.
Result<std::string> load_token(const std::filesystem::path& file);

}  // namespace gpuskew
