#pragma once

// Text measured for a terminal; core/printable.h makes it safe for one.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/printable.h"

namespace gpuskew {

/// Columns the text takes on a terminal: two for wide characters, none for combining ones.
std::size_t display_width(std::string_view text);

/// The text within `columns`, ending in "…" when something was cut off. Empty when columns is 0.
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace gpuskew
