#pragma once

// Where output goes: how wide it is, and whether it takes colour.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuskew {

/// The environment variables this program reads, with their values; what is not set is not there.
using EnvVars = std::map<std::string, std::string, std::less<>>;

enum class ColorChoice : std::uint8_t { Auto, Always, Never };

struct Screen {
  bool color = false;
  /// nullopt: not a terminal, nothing is ever cut.
  std::optional<std::size_t> columns;
};

/// Auto is color on a terminal that is not "dumb", unless NO_COLOR is set and not empty (https://no-color.org).
Screen screen_for(int output_fd, ColorChoice choice, const EnvVars& environment);

enum class Style : std::uint8_t { Plain, Bold, Good, Warning, Critical, Unknown, Faint };

/// The text in that style; unchanged without color.
std::string paint(std::string_view text, Style style, const Screen& screen);

/// By the words the API uses: "ok", "broken", ...; Plain for a word this version does not know.
Style style_of_state(std::string_view state);
Style style_of_severity(std::string_view severity);
Style style_of_outcome(std::string_view next_boot);

}  // namespace gpuskew
