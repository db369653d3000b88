#pragma once

#include <string>
#include <string_view>

namespace gpuskew {

/// Whose a process is, by its control groups.
struct CgroupOwner {
  std::string pod_uid;       ///< with dashes, as Kubernetes writes it; a static pod's has none. "" outside pods
  std::string container_id;  ///< its 64 hexadecimal digits; "" outside containers
  std::string unit;          ///< the innermost systemd unit ("gdm.service"), outside pods and containers only

  bool operator==(const CgroupOwner&) const = default;
};

/// Of proc/<pid>/cgroup, both versions of control groups, with the systemd and the cgroupfs driver of the kubelet:
/// containerd, CRI-O, Docker, Podman. Of containers in containers the innermost counts. A file of nonsense gives
/// empty fields.
CgroupOwner parse_cgroup(std::string_view text);

}  // namespace gpuskew
