#include "agent/probes/pod_root.h"

#include <array>
#include <string>

namespace gpuskew {
namespace {

constexpr std::array kServiceAccounts = {"/var/run/secrets/kubernetes.io/serviceaccount",
                                         "/run/secrets/kubernetes.io/serviceaccount"};

}  // namespace

std::optional<Error> pod_root_error(const HostRoot& root) {
  for (const char* path : kServiceAccounts) {
    if (root.status(path)) {
      return Error{ErrorCode::Unsupported, std::string("the host root is a pod's own file system (") + path +
                                               " is there): mount the node's / and name it with --host-root"};
    }
  }
  return std::nullopt;
}

}  // namespace gpuskew
