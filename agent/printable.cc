#include "agent/printable.h"

#include <array>
#include <cstdio>

namespace gpuskew {
namespace {

std::string escaped(unsigned value) {
  std::array<char, 8> digits{};
  const int length = std::snprintf(digits.data(), digits.size(), "\\x%02x", value);
  return {digits.data(), static_cast<std::size_t>(length)};
}

}  // namespace

// UTF-8 passes; the C1 controls among it are two bytes, 0xc2 and 0x80 to 0x9f.
std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    const bool c1 = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    if (byte < 0x20 || byte == 0x7f) {
      shown += escaped(byte);
    } else if (c1) {
      shown += escaped(next);
      ++at;
    } else {
      shown += text[at];
    }
  }
  return shown;
}

}  // namespace gpuskew
