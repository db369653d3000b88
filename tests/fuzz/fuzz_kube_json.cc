#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/kube/json_text.h"
#include "runtime/kube/watch_lines.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check_page(std::string_view text) {
  auto page = split_list_page(text);
  if (!page) {
    require(!page.error().what.empty());
    return;
  }
  for (;;) {
    const std::size_t before = page->items.size();
    const auto item = next_item(page->items);
    if (!item || !*item) {
      return;
    }
    require(page->items.size() < before);
    const auto object = parse_object(**item, false);
    require(!object || object->is_object());
  }
}

/// What is left of a good object is the same object, without its managedFields.
void check_object(std::string_view text) {
  const auto whole = parse_object(text, true);
  const auto shorter = parse_object(text, false);
  if (whole && shorter && whole->contains("metadata") && (*whole)["metadata"].is_object() &&
      !(*whole)["metadata"].contains("managedFields")) {
    require(*whole == *shorter);
  }
}

void check_watch(std::string_view text) {
  constexpr std::size_t kMaxLine = 4096;
  constexpr std::size_t kPiece = 7;
  WatchLines lines(kMaxLine);
  while (!text.empty()) {
    if (!lines.add(text.substr(0, kPiece))) {
      return;
    }
    text.remove_prefix(std::min(kPiece, text.size()));
    while (const auto line = lines.next()) {
      const auto event = parse_watch_line(*line, false);
      require(!event || event->object.is_object());
    }
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gpuskew::fuzz::check_page(text);
  gpuskew::fuzz::check_object(text);
  gpuskew::fuzz::check_watch(text);
  return 0;
}
