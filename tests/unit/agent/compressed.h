#pragma once

// What a distribution's packaging does to a module file, for tests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuskew {

std::string gzipped(std::string_view text);
std::string xzipped(std::string_view text, std::uint32_t dictionary = 1U << 20);
std::string zstandard(std::string_view text);
/// A few kilobytes that unpack to `size` zeros.
std::string zstandard_zeros(std::size_t size);

}  // namespace gpuskew
