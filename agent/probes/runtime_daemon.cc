#include "agent/probes/runtime_daemon.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/probes/containerd_files.h"

namespace gpuskew {
namespace {

constexpr const char* kContainerdConfig = "/etc/containerd/config.toml";
constexpr const char* kContainerdSocket = "/run/containerd/containerd.sock";
constexpr const char* kCrioConfig = "/etc/crio/crio.conf";

/// A distribution of Kubernetes that brings its own containerd.
struct Home {
  const char* flavour;
  const char* config;
  const char* socket;
  std::string_view mark;  ///< in the path of a configuration that was put elsewhere
};
constexpr std::array<Home, 4> kHomes{{
    {"rke2", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "/run/k3s/containerd/containerd.sock",
     "/rke2/agent/etc/containerd/"},
    {"k3s", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "/run/k3s/containerd/containerd.sock",
     "/k3s/agent/etc/containerd/"},
    {"k0s", "/etc/k0s/containerd.toml", "/run/k0s/containerd.sock", "/k0s/"},
    {"microk8s", "/var/snap/microk8s/current/args/containerd.toml", "/var/snap/microk8s/common/run/containerd.sock",
     "/snap/microk8s/"},
}};

constexpr std::array kContainerdPrograms = {"/usr/bin/containerd", "/usr/local/bin/containerd", "/opt/bin/containerd"};
constexpr std::array kCrioPrograms = {"/usr/bin/crio", "/usr/local/bin/crio"};

bool is_there(const HostRoot& root, const char* path, SeenFiles& seen) {
  return seen.status(root, path).has_value();
}

template <class List>
bool any_is_there(const HostRoot& root, const List& paths, SeenFiles& seen) {
  return std::any_of(paths.begin(), paths.end(), [&](const char* path) { return is_there(root, path, seen); });
}

std::string flavour_of(std::string_view config) {
  for (const Home& home : kHomes) {
    if (config.find(home.mark) != std::string_view::npos) {
      return home.flavour;
    }
  }
  return "";
}

RuntimeDaemon daemon_of(const RuntimeProcess& process) {
  if (process.command == "crio") {
    const auto config = process.option({"--config", "-c"});
    return {RuntimeKind::Crio, "", config.value_or(kCrioConfig), config.has_value(), process};
  }
  const auto config = process.option({"--config", "-c"});
  return {RuntimeKind::Containerd, flavour_of(config.value_or("")), config.value_or(kContainerdConfig),
          config.has_value(), process};
}

// Docker starts one of its own where no other runs; no kubelet asks that one.
bool is_dockers(const RuntimeDaemon& daemon) {
  return daemon.config.find("/docker/containerd/") != std::string::npos;
}

std::string plain_path(std::string path) {
  return path.starts_with("/var/run/") ? path.substr(std::string_view("/var").size()) : path;
}

// Where a containerd listens: its flag, else its main file's grpc.address, else the default.
std::string socket_of(const HostRoot& root, const RuntimeDaemon& daemon, SeenFiles& seen) {
  if (const auto flag = daemon.process->option({"--address", "-a"})) {
    return plain_path(*flag);
  }
  if (const auto file = read_containerd_file(root, daemon.config, seen)) {
    for (const TomlSetting& setting : file->settings) {
      const bool is_address = setting.path == TomlPath{"grpc", "address"} ||
                              setting.path == TomlPath{"plugins", "io.containerd.server.v1.grpc", "address"};
      if (is_address && setting.text() != nullptr) {
        return plain_path(*setting.text());
      }
    }
  }
  return kContainerdSocket;
}

const RuntimeProcess* first_of_family(const std::vector<RuntimeProcess>& processes, std::string_view family) {
  const auto found = std::find_if(processes.begin(), processes.end(), [family](const RuntimeProcess& process) {
    return process.command.starts_with(family);
  });
  return found == processes.end() ? nullptr : &*found;
}

// By what is installed, for a daemon that does not run. nullopt: nothing is.
std::optional<RuntimeDaemon> home_at(const HostRoot& root, std::string_view socket, SeenFiles& seen) {
  for (const Home& home : kHomes) {
    if ((socket.empty() || socket == home.socket) && is_there(root, home.config, seen)) {
      return RuntimeDaemon{RuntimeKind::Containerd, home.flavour, home.config, true, std::nullopt};
    }
  }
  return std::nullopt;
}

Result<RuntimeDaemon> daemon_at(const HostRoot& root, const std::string& socket,
                                const std::vector<RuntimeDaemon>& running, SeenFiles& seen) {
  if (socket.find("dockerd") != std::string::npos || socket.find("dockershim") != std::string::npos) {
    return fail(ErrorCode::Unsupported,
                "the kubelet asks " + in_quotes(socket) + ": Docker's configuration is not read");
  }
  const bool is_crio = socket.find("crio") != std::string::npos;
  for (const RuntimeDaemon& daemon : running) {
    if (is_crio ? daemon.kind == RuntimeKind::Crio
                : daemon.kind == RuntimeKind::Containerd && socket_of(root, daemon, seen) == socket) {
      return daemon;
    }
  }
  if (is_crio) {
    return RuntimeDaemon{RuntimeKind::Crio, "", kCrioConfig, false, std::nullopt};
  }
  if (auto home = home_at(root, socket, seen)) {
    return std::move(*home);
  }
  if (socket == kContainerdSocket) {
    return RuntimeDaemon{RuntimeKind::Containerd, "", kContainerdConfig, false, std::nullopt};
  }
  return fail(ErrorCode::Unsupported, "the kubelet asks " + in_quotes(socket) + ", where no runtime known here serves");
}

Result<RuntimeDaemon> installed_daemon(const HostRoot& root, SeenFiles& seen) {
  if (auto home = home_at(root, "", seen)) {
    return std::move(*home);
  }
  const bool containerd = is_there(root, kContainerdConfig, seen) || any_is_there(root, kContainerdPrograms, seen);
  const bool crio = is_there(root, kCrioConfig, seen) || any_is_there(root, kCrioPrograms, seen);
  if (containerd && crio) {
    return fail(ErrorCode::Unsupported, "containerd and CRI-O are both installed, and neither runs");
  }
  if (containerd) {
    return RuntimeDaemon{RuntimeKind::Containerd, "", kContainerdConfig, false, std::nullopt};
  }
  if (crio) {
    return RuntimeDaemon{RuntimeKind::Crio, "", kCrioConfig, false, std::nullopt};
  }
  return fail(ErrorCode::NotFound, "no container runtime");
}

// Several run and no kubelet says which: the one of a Kubernetes distribution that runs too, else the only one left.
Result<RuntimeDaemon> likely_daemon(const std::vector<RuntimeDaemon>& running,
                                    const std::vector<RuntimeProcess>& processes) {
  std::vector<RuntimeDaemon> flavoured;
  std::copy_if(running.begin(), running.end(), std::back_inserter(flavoured),
               [](const RuntimeDaemon& daemon) { return !daemon.flavour.empty(); });
  for (const Home& home : kHomes) {
    const bool runs =
        first_of_family(processes, std::string_view(home.flavour) == "microk8s" ? "kubelite" : home.flavour) != nullptr;
    for (const RuntimeDaemon& daemon : flavoured) {
      if (runs && daemon.flavour == home.flavour) {
        return daemon;
      }
    }
  }
  const std::vector<RuntimeDaemon>& left = flavoured.empty() ? running : flavoured;
  if (left.size() == 1) {
    return left.front();
  }
  return fail(ErrorCode::Unsupported, std::to_string(left.size()) + " container runtimes run (" + left[0].config +
                                          ", " + left[1].config + "), and nothing tells which one a kubelet uses");
}

}  // namespace

Result<RuntimeDaemon> find_runtime_daemon(const HostRoot& root, const std::vector<RuntimeProcess>& processes,
                                          SeenFiles& seen) {
  std::vector<RuntimeDaemon> running;
  for (const RuntimeProcess& process : processes) {
    if (process.command == "containerd" || process.command == "crio") {
      RuntimeDaemon daemon = daemon_of(process);
      if (!is_dockers(daemon)) {
        running.push_back(std::move(daemon));
      }
    }
  }
  const auto endpoint = kubelet_endpoint(root, processes, seen);
  if (!endpoint) {
    return tl::unexpected(endpoint.error());
  }
  if (*endpoint) {
    return daemon_at(root, **endpoint, running, seen);
  }
  if (running.empty()) {
    return installed_daemon(root, seen);
  }
  // A kubelet that is told nothing asks containerd's own socket.
  const bool has_kubelet = std::any_of(processes.begin(), processes.end(),
                                       [](const RuntimeProcess& process) { return process.command == "kubelet"; });
  return has_kubelet && running.size() > 1 ? daemon_at(root, kContainerdSocket, running, seen)
                                           : likely_daemon(running, processes);
}

}  // namespace gpuskew
