#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "agent/probes/kubelet_checkpoint.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void check(const Result<KubeletGrants>& grants) {
  if (!grants) {
    require(!grants.error().what.empty());
    return;
  }
  require(grants->pods.size() <= kMaxGrants && grants->registered.size() <= kMaxGrants);
  for (const PodDevices& pod : grants->pods) {
    require(is_name(pod.pod_uid) && is_name(pod.resource) && (pod.container.empty() || is_name(pod.container)));
  }
  for (const PluginResource& resource : grants->registered) {
    require(is_name(resource.name));
  }
}

void check(const std::string& text) {
  std::istringstream checkpoint(text);
  check(parse_device_checkpoint(checkpoint));
  std::istringstream claims(text);
  check(parse_claim_state(claims));
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
