#include "aggregator/cli/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpuskew {
namespace {

/// Some terminals say 0 columns (serial consoles), and below this nothing readable fits.
constexpr std::size_t kNarrowestScreen = 20;

std::string_view value_of(const EnvVars& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view sequence_of(Style style) {
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Bold:
      return "\x1b[1m";
    case Style::Good:
      return "\x1b[32m";
    case Style::Warning:
      return "\x1b[33m";
    case Style::Critical:
      return "\x1b[1;31m";
    case Style::Unknown:
      return "\x1b[35m";
    case Style::Faint:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

Screen screen_for(int output_fd, ColorChoice choice, const EnvVars& environment) {
  Screen screen;
  const bool terminal = isatty(output_fd) == 1;
  if (terminal) {
    winsize size{};
    if (ioctl(output_fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowestScreen) {
      screen.columns = size.ws_col;
    }
  }
  const std::string_view term = value_of(environment, "TERM");
  const bool wanted = terminal && value_of(environment, "NO_COLOR").empty() && !term.empty() && term != "dumb";
  screen.color = choice == ColorChoice::Always || (choice == ColorChoice::Auto && wanted);
  return screen;
}

std::string paint(std::string_view text, Style style, const Screen& screen) {
  const std::string_view sequence = sequence_of(style);
  if (!screen.color || sequence.empty() || text.empty()) {
    return std::string(text);
  }
  return std::string(sequence).append(text).append("\x1b[0m");
}

Style style_of_state(std::string_view state) {
  if (state == "broken") {
    return Style::Critical;
  }
  if (state == "degraded") {
    return Style::Warning;
  }
  if (state == "unknown") {
    return Style::Unknown;
  }
  return state == "ok" ? Style::Good : Style::Plain;
}

Style style_of_severity(std::string_view severity) {
  if (severity == "critical") {
    return Style::Critical;
  }
  return severity == "warning" ? Style::Warning : Style::Plain;
}

Style style_of_outcome(std::string_view next_boot) {
  if (next_boot == "loses") {
    return Style::Warning;
  }
  if (next_boot == "cannot-tell" || next_boot == "unknown") {
    return Style::Unknown;
  }
  return next_boot == "keeps" ? Style::Good : Style::Plain;
}

}  // namespace gpuskew
