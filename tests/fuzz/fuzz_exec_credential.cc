#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/kube/exec_plugin.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void check(std::string_view text) {
  const auto credential = parse_exec_credential(text, "client.authentication.k8s.io/v1");
  if (!credential) {
    require(!credential.error().what.empty());
    return;
  }
  require(!credential->token.empty() || !credential->key.is_empty());
  require(credential->certificate.is_empty() == credential->key.is_empty());
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
