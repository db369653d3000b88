#pragma once

// Facts as lines for people: a name, a value or "none" or "unknown, because ...", and where it is from.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fact.h"
#include "core/time.h"

namespace gpuskew {

/// A fact's value by `text_of`, "none", or "unknown, because ...".
template <class T, class TextOf>
std::string fact_text(const Fact<T>& fact, TextOf text_of) {
  if (fact.is_known()) {
    return text_of(fact.value());
  }
  return fact.is_absent() ? "none" : "unknown, because " + fact.why().what;
}

/// "a, b, c", of more than FactLines::kMaxItems "a, b, ... and 12 more".
std::string joined(const std::vector<std::string>& words);

class FactLines {
 public:
  /// Of a longer list only so many items are shown: a screen is for what matters, --json for the rest.
  static constexpr std::size_t kMaxItems = 16;

  struct Line {
    std::string name;
    std::string value;
    std::string source{};
  };

  /// Lines from here on stand under it.
  void heading(std::string title) {
    headings_.push_back(lines_.size());
    add(std::move(title), "");
  }
  void add(std::string name, std::string value, std::string source = "") {
    lines_.push_back({std::move(name), std::move(value), std::move(source)});
  }
  template <class T, class TextOf>
  void fact(std::string name, const Fact<T>& fact, TextOf text_of) {
    add(std::move(name), fact_text(fact, text_of), fact.source());
  }
  void fact(std::string name, const Fact<std::string>& text) {
    fact(std::move(name), text, [](const std::string& value) { return value; });
  }
  void fact(std::string name, const Fact<Time>& time) { fact(std::move(name), time, &to_rfc3339); }

  /// The items one a line, as `line_of` tells each, indented beneath what stands above.
  template <class T, class LineOf>
  void items(const std::vector<T>& all, LineOf line_of) {
    const std::size_t shown = std::min(all.size(), kMaxItems);
    for (std::size_t at = 0; at < shown; ++at) {
      Line line = line_of(all[at]);
      add("  " + line.name, std::move(line.value), std::move(line.source));
    }
    if (shown < all.size()) {
      add("  ... and " + std::to_string(all.size() - shown) + " more", "");
    }
  }
  /// How many there are, then the items.
  template <class T, class LineOf>
  void list(std::string name, const Fact<std::vector<T>>& list, LineOf line_of) {
    fact(std::move(name), list,
         [](const std::vector<T>& all) { return all.empty() ? "none" : std::to_string(all.size()); });
    if (list.is_known()) {
      items(list.value(), line_of);
    }
  }

  /// Values in one column. Control characters a host's file might hold are shown as "\x1b".
  std::string text() const;

 private:
  std::vector<Line> lines_;
  std::vector<std::size_t> headings_;  ///< where they stand in lines_
};

}  // namespace gpuskew
