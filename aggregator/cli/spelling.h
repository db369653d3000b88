#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuskew {

/// The known word that `typed` most likely meant: it begins like it, or at most two letters are wrong, missing, added
/// or swapped (one in words of up to three). nullopt when nothing is near.
std::optional<std::string> nearest_word(std::string_view typed, const std::vector<std::string>& known);

}  // namespace gpuskew
