#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/label.h"
#include "core/os_release.h"
#include "core/tag.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check(std::string_view text) {
  const OsRelease release = parse_os_release(text);
  require(release.fields.size() <= OsRelease::kMaxFields);
  require(release.notes.size() <= OsRelease::kMaxNotes);
  for (const auto& [key, value] : release.fields) {
    require(text.find(key) != std::string_view::npos);
    require(value.find_first_of("\r\n") == std::string::npos);
  }
  const auto os = os_identity(release);
  if (!os) {
    return;
  }
  for (const auto& [key, value] : os_labels(*os)) {
    require(is_label_value(value));
  }
  const auto tag = os_tag(*os, OperatorVersion::parse("26.7").value());
  require(!tag || is_tag_text(tag->text) || tag->text.size() > kMaxTag);
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
