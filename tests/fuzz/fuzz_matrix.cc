#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/matrix.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check(std::string_view text) {
  const auto matrix = Matrix::parse_csv(text);
  if (!matrix) {
    require(!matrix.error().what.empty());
    return;
  }
  require(matrix->size() <= Matrix::kMaxRows);
  std::string written = "driver_branch,kernel,os_tag\n";
  for (const Matrix::Row& row : matrix->rows()) {
    require(is_tag_text(row.driver) && is_tag_text(row.kernel) && is_tag_text(row.os));
    require(matrix->contains(Tag{"", row.driver, row.kernel, row.os, "", {}}));
    written += row.driver + "," + row.kernel + "," + row.os + "\n";
  }
  const auto again = Matrix::parse_csv(written);
  require(again && *again == *matrix);
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
