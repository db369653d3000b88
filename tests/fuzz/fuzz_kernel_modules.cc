#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/probes/kernel_modules.h"
#include "core/snapshot.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check(std::string_view text) {
  const auto modules = parse_kernel_modules(text);
  if (!modules) {
    return;
  }
  require(modules->size() <= Snapshot::kMaxModules);
  for (const KernelModule& module : *modules) {
    require(!module.name.empty() && text.find(module.name) != std::string_view::npos);
    require(module.used_by.size() <= KernelModule::kMaxUsers);
    require(module.state_since == Time{});
    const std::string& taints = module.taints;
    require(std::all_of(taints.begin(), taints.end(), [](char c) { return c > ' ' && c <= '~'; }));
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
