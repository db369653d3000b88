#include "runtime/kube/path.h"

namespace gpuskew {

std::string query_escaped(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
    if (is_plain) {
      escaped += character;
    } else {
      escaped += '%';
      escaped += kDigits[byte >> 4];
      escaped += kDigits[byte & 0xf];
    }
  }
  return escaped;
}

std::string with_query(const std::string& path, std::string_view query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + std::string(query);
}

}  // namespace gpuskew
