#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/label.h"
#include "core/version.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check_driver(const DriverVersion& version) {
  const auto again = DriverVersion::parse(version.text());
  require(again && *again == version);
  require(version.text().starts_with(version.branch()));
  require(version.text().ends_with(version.revision_text()));
  for (const auto& [key, value] : driver_labels(version)) {
    require(is_label_value(value));
  }
}

void check(std::string_view text) {
  const auto driver = DriverVersion::parse(text);
  require(!driver || driver->text() == text);
  if (driver) {
    check_driver(*driver);
  }
  const auto cuda = CudaVersion::parse(text);
  require(!cuda || cuda->text() == text);

  const auto nvrm = parse_nvrm_version(text);
  if (nvrm && nvrm->version) {
    require(!nvrm->l4t_release);
    require(text.find(nvrm->version->text()) != std::string_view::npos);
    check_driver(*nvrm->version);
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
