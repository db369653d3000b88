#include "agent/probes/os.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace gpuskew {
namespace {

constexpr std::array kFiles = {"/etc/os-release", "/usr/lib/os-release"};

}  // namespace

Fact<OsIdentity> read_os(const HostRoot& root) {
  for (const char* path : kFiles) {
    const auto text = root.read(path);
    if (!text && text.error().code == ErrorCode::NotFound) {
      continue;
    }
    if (!text) {
      return Fact<OsIdentity>::unknown(text.error(), path);
    }
    auto identity = os_identity(parse_os_release(*text));
    if (!identity) {
      return Fact<OsIdentity>::unknown({ErrorCode::Malformed, std::string("reading ") + path + ": it names no ID"},
                                       path);
    }
    return Fact<OsIdentity>::known(std::move(*identity), path);
  }
  return Fact<OsIdentity>::unknown(
      {ErrorCode::NotFound, std::string("neither ") + kFiles[0] + " nor " + kFiles[1] + " is there"}, kFiles[0]);
}

}  // namespace gpuskew
