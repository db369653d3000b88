#include "agent/probes/wsl.h"

#include <algorithm>
#include <cctype>

namespace gpuskew {
namespace {

constexpr const char* kParavirtualGpu = "/dev/dxg";
constexpr const char* kWindowsLibraries = "/usr/lib/wsl/lib";

bool is_microsofts(const std::string& release) {
  std::string lower = release;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("microsoft") != std::string::npos;
}

}  // namespace

Fact<std::string> read_wsl(const HostRoot& root, const Fact<KernelRelease>& kernel) {
  if (kernel.is_known() && is_microsofts(kernel->text())) {
    return Fact<std::string>::known(kernel->text(), kernel.source());
  }
  const auto gpu = root.status(kParavirtualGpu);
  const auto libraries = root.status(kWindowsLibraries);
  if (gpu && libraries) {
    return Fact<std::string>::known(kernel.is_known() ? kernel->text() : "a kernel that could not be read",
                                    kParavirtualGpu);
  }
  if (!kernel.is_known()) {
    return Fact<std::string>::unknown({ErrorCode::NotFound, "the kernel release is unknown"}, kernel.source());
  }
  return Fact<std::string>::absent(kernel.source());
}

}  // namespace gpuskew
