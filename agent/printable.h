#pragma once

#include <string>
#include <string_view>

namespace gpuskew {

/// Text of a host for a terminal: control characters, C1 ones too, become "\x1b"; other UTF-8 passes.
std::string printable(std::string_view text);

}  // namespace gpuskew
