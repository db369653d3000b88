#pragma once

#include <cstdint>
#include <optional>

namespace gpuskew {

/// This process's resident memory; nullopt when the kernel does not tell.
std::optional<std::uint64_t> resident_bytes();

}  // namespace gpuskew
