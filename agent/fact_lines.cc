#include "agent/fact_lines.h"

#include "core/printable.h"

namespace gpuskew {
namespace {

/// A name that is longer does not push all values to the right.
constexpr std::size_t kWidestName = 36;

}  // namespace

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  const std::size_t shown = std::min(words.size(), FactLines::kMaxItems);
  for (std::size_t at = 0; at < shown; ++at) {
    text += (at == 0 ? "" : ", ") + words[at];
  }
  return shown == words.size() ? text : text + ", ... and " + std::to_string(words.size() - shown) + " more";
}

std::string FactLines::text() const {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Line& line : lines_) {
    names.push_back(printable(line.name));
    if (!line.value.empty() && names.back().size() <= kWidestName) {
      width = std::max(width, names.back().size());
    }
  }
  std::string text;
  for (std::size_t at = 0; at < lines_.size(); ++at) {
    const Line& line = lines_[at];
    const bool is_heading = std::find(headings_.begin(), headings_.end(), at) != headings_.end();
    text += (is_heading && !text.empty() ? "\n" : "") + names[at];
    if (!line.value.empty()) {
      text += std::string(std::max(width, names[at].size()) + 2 - names[at].size(), ' ') + printable(line.value);
    }
    text += line.source.empty() ? "\n" : "  (from " + printable(line.source) + ")\n";
  }
  return text;
}

}  // namespace gpuskew
