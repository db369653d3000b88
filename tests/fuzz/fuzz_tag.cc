// The first line is a kernel release, the rest an os-release file.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/label.h"
#include "core/tag.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check_kernel(const KernelRelease& kernel) {
  const std::string form = nfd_kernel_form(kernel);
  const auto again = KernelRelease::parse(form);
  require(form.empty() || (again && nfd_kernel_form(*again) == form));
  require(kernel.text().ends_with(kernel.flavour()));
  for (const auto& [key, value] : kernel_labels(kernel)) {
    require(is_label_value(value));
  }
  require(operator_object_form(form).size() <= form.size());
}

void check_tag(const KernelRelease& kernel, const OsIdentity& os, const TagPolicy& policy) {
  const auto driver = Fact<DriverVersion>::known(DriverVersion::parse("550.90.07").value(), "");
  const auto tag = compute_tag(driver, Fact<KernelRelease>::known(kernel, ""), Fact<OsIdentity>::known(os, ""), policy);
  if (!tag) {
    require(tag.error().what.starts_with("no tag: "));
    return;
  }
  require(is_tag_text(tag->text));
  require(tag->text == tag->driver + "-" + tag->kernel + "-" + tag->os);
  require(tag->kernel == nfd_kernel_form(kernel));
  require(!tag->os_rule.empty());
}

void check(std::string_view text) {
  const auto end = text.find('\n');
  const auto kernel = KernelRelease::parse(text.substr(0, end));
  if (!kernel) {
    return;
  }
  check_kernel(*kernel);
  const auto os = os_identity(parse_os_release(end == std::string_view::npos ? "" : text.substr(end + 1)));
  if (!os) {
    return;
  }
  check_tag(*kernel, *os, {});
  for (const std::string_view version : {"25.10", "26.3.0", "26.7"}) {
    check_tag(*kernel, *os, {DriverPart::Version, OperatorVersion::parse(version).value()});
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
