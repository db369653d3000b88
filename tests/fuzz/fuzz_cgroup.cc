#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/probes/cgroup.h"
#include "agent/probes/device_holders.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void check(std::string_view text) {
  const CgroupOwner owner = parse_cgroup(text);
  require(owner.pod_uid.empty() || owner.pod_uid.size() == 36 || owner.pod_uid.size() == 32);
  require(owner.container_id.empty() || owner.container_id.size() == 64);
  require(owner.unit.empty() || (owner.pod_uid.empty() && owner.container_id.empty()));
  require(is_printable(owner.pod_uid) && is_printable(owner.container_id) && is_printable(owner.unit));
  const std::string device = device_of_link(text);
  require(device.empty() || (device.starts_with("/dev/nvidia") && is_printable(device)));
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
