#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuskew {

/// Standard base64 with padding.
std::string base64_encode(std::string_view bytes);

/// The bytes of standard base64; white space between is passed over. Nothing when it is not base64.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace gpuskew
