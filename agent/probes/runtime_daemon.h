#pragma once

// Which container runtime serves the kubelet here, and from which configuration. A node may have several containerds
// (Docker's beside RKE2's): the one behind the kubelet's socket counts, whatever the other's files say.

#include <optional>
#include <string>
#include <vector>

#include "agent/host_root.h"
#include "agent/probes/runtime_processes.h"
#include "agent/probes/seen_files.h"
#include "core/facts/runtime.h"
#include "core/result.h"

namespace gpuskew {

struct RuntimeDaemon {
  RuntimeKind kind = RuntimeKind::Containerd;
  std::string flavour;                    ///< "rke2", "k3s", "microk8s", "k0s"; "" for the distribution's own
  std::string config;                     ///< its main file
  bool config_required = false;           ///< it was started with this file's name: without it, it refuses to start
  std::optional<RuntimeProcess> process;  ///< nullopt: it does not run

  bool operator==(const RuntimeDaemon&) const = default;
};

/// By the running processes, the kubelet's --container-runtime-endpoint or its configuration files, and where nothing
/// runs by the configurations and programs that are installed. NotFound: no container runtime is here. Unsupported: the
/// kubelet uses one whose configuration is not read (cri-dockerd), or nothing tells several apart.
Result<RuntimeDaemon> find_runtime_daemon(const HostRoot& root, const std::vector<RuntimeProcess>& processes,
                                          SeenFiles& seen);

/// The socket the kubelet asks ("/run/containerd/containerd.sock"), without its scheme and with /run for /var/run;
/// nullopt where nothing says.
Result<std::optional<std::string>> kubelet_endpoint(const HostRoot& root, const std::vector<RuntimeProcess>& processes,
                                                    SeenFiles& seen);

}  // namespace gpuskew
