#include "runtime/kube/base64.h"

#include <openssl/evp.h>

namespace gpuskew {

std::string base64_encode(std::string_view bytes) {
  std::string encoded((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  encoded.resize(static_cast<std::size_t>(length));
  return encoded;
}

std::optional<std::string> base64_decode(std::string_view text) {
  static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr unsigned kBitsOfDigit = 6;
  constexpr unsigned kBitsOfByte = 8;
  std::string bytes;
  std::size_t digits = 0;
  std::size_t padding = 0;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char character : text) {
    if (character == '\n' || character == '\r' || character == ' ' || character == '\t') {
      continue;
    }
    if (character == '=') {
      ++padding;
      continue;
    }
    const std::size_t value = kAlphabet.find(character);
    if (value == std::string_view::npos || padding != 0) {
      return std::nullopt;
    }
    ++digits;
    bits = (bits << kBitsOfDigit) | static_cast<unsigned>(value);
    held += kBitsOfDigit;
    if (held >= kBitsOfByte) {
      held -= kBitsOfByte;
      bytes += static_cast<char>(bits >> held);
      bits &= (1U << held) - 1;
    }
  }
  if (padding > 2 || (digits + padding) % 4 != 0 || bits != 0) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace gpuskew
