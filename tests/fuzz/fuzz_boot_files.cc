// The small files around a boot: loader entries, grub's environment block, dkms's build log, version texts, and the
// headers of kernel images.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/probes/dkms_log.h"
#include "agent/probes/grub_environment.h"
#include "agent/probes/kernel_image.h"
#include "agent/probes/loader_entry.h"
#include "agent/probes/systemd_boot.h"
#include "agent/probes/version_order.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void try_images(std::string_view bytes) {
  const int descriptor = ::memfd_create("image", MFD_CLOEXEC);
  require(descriptor >= 0 && ::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const HostFile file(descriptor, "image");
  const auto image = read_bzimage_release(file, 0);
  require(image ? !image->text().empty() : !image.error().what.empty());
  const auto unified = read_unified_image(file);
  require(unified ? !unified->release.text().empty() : !unified.error().what.empty());
}

void try_orders(std::string_view a, std::string_view b) {
  const auto sign = [](int order) { return order < 0 ? -1 : (order > 0 ? 1 : 0); };
  require(sign(uapi_order(a, b)) == -sign(uapi_order(b, a)));
  require(sign(rpm_order(a, b)) == -sign(rpm_order(b, a)));
}

void try_texts(std::string_view bytes) {
  const LoaderEntry entry = parse_loader_entry("a.conf", bytes);
  require(entry.kernel.size() <= bytes.size() && entry.options.size() <= bytes.size());
  const auto environment = parse_grub_environment(bytes);
  require(environment || !environment.error().what.empty());
  if (const auto log = parse_dkms_log(bytes)) {
    require(log->kernel.size() <= bytes.size());
  }
  SystemdBootEntry named;
  name_entry(named, bytes);
  require(named.id.size() <= bytes.size());
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuskew::fuzz::try_texts(bytes);
  gpuskew::fuzz::try_orders(bytes.substr(0, size / 2), bytes.substr(size / 2));
  gpuskew::fuzz::try_images(bytes);
  return 0;
}
