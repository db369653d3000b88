#pragma once

// The three ways distributions compress kernel modules, as streams: a module is 60 MB unpacked, and never held whole.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

enum class Compression : std::uint8_t { Gzip, Xz, Zstd };

/// Told by the first bytes, not by the name. nullopt: none of the three.
std::optional<Compression> compression_of(std::string_view first_bytes);

/// Unpacks what `descriptor` holds from its current place, handing on block by block. Memory stays under about 40 MiB
/// whatever the file asks for. Errors: Malformed (broken, cut off), TooLarge (kMaxUnpackedBytes, or more memory than
/// that), Internal (read error).
Result<void> decompress(int descriptor, Compression kind, const std::function<void(std::string_view)>& block);

inline constexpr std::uint64_t kMaxUnpackedBytes = 512u << 20;

}  // namespace gpuskew
