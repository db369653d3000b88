#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/kube/kubeconfig.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check(std::string_view text) {
  const auto file = Kubeconfig::parse("/k/config", text);
  if (!file) {
    require(!file.error().what.empty());
    return;
  }
  for (const std::string& name : file->names("users")) {
    const auto user = file->entry("users", "user", name);
    if (!user || !*user) {
      continue;
    }
    const PemSource certificate = (*user)->pem("client-certificate");
    require(certificate.data.empty() || certificate.file.empty());
    require((*user)->text("token").find('\0') == std::string::npos);
    for (const KubeconfigMap& variable : (*user)->map("exec").maps("env")) {
      require(variable.text("name").find('\0') == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
