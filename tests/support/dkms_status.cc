#include "tests/support/dkms_status.h"

#include <algorithm>

namespace gpuskew {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(", ");
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 2);
  }
}

}  // namespace

std::vector<DkmsStatusLine> parse_dkms_status(std::string_view text) {
  std::vector<DkmsStatusLine> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) {
      continue;
    }
    std::vector<std::string> parts = split(line.substr(0, colon));
    if (const std::size_t slash = parts.front().find('/'); slash != std::string::npos) {
      parts.insert(parts.begin() + 1, parts.front().substr(slash + 1));
      parts.front().erase(slash);
    }
    if (parts.size() != 2 && parts.size() != 4) {
      continue;
    }
    const std::string_view state = line.substr(colon + 2);
    const std::size_t blank = state.find(" (");
    DkmsStatusLine made{parts[0], parts[1], "", "", std::string(state.substr(0, blank)), ""};
    if (parts.size() == 4) {
      made.kernel = parts[2];
      made.architecture = parts[3];
    }
    if (blank != std::string_view::npos && state.ends_with(')')) {
      made.note = state.substr(blank + 2, state.size() - blank - 3);
    }
    lines.push_back(std::move(made));
  }
  return lines;
}

}  // namespace gpuskew
