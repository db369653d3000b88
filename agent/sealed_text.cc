#include "agent/sealed_text.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace gpuskew {
namespace {

// FNV-1a
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char c : bytes) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return sum;
}

std::string to_hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return std::string(digits.data(), end.ptr);
}

std::string header_of(std::string_view name, std::string_view version, std::string_view body) {
  std::string header("gpuskew-");
  header.append(name).append(" ").append(version).append(" ").append(std::to_string(body.size()));
  return header.append(" ").append(to_hex(checksum(body))).append("\n");
}

}  // namespace

std::string sealed(std::string_view name, std::string_view version, std::string_view body) {
  return header_of(name, version, body).append(body);
}

Result<std::string_view> unsealed(std::string_view text, std::string_view name, std::string_view version) {
  const std::size_t line_end = text.find('\n');
  const std::string_view header = text.substr(0, line_end);
  const std::string own_start = "gpuskew-" + std::string(name) + " ";
  if (line_end == std::string_view::npos || !header.starts_with(own_start)) {
    return fail(ErrorCode::Malformed, "it is not a " + std::string(name) + " file of gpuskew-agent");
  }
  if (!header.substr(own_start.size()).starts_with(std::string(version) + " ")) {
    return fail(ErrorCode::Unsupported, "it has another format version than " + std::string(version));
  }
  const std::string_view body = text.substr(line_end + 1);
  if (text.substr(0, line_end + 1) != header_of(name, version, body)) {
    return fail(ErrorCode::Malformed, "its checksum or length does not match");
  }
  return body;
}

}  // namespace gpuskew
