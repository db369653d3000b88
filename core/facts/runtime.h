#pragma once

// The container runtime's configuration as it would be merged now, and how the running daemon stands to it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"
#include "core/time.h"

namespace gpuskew {

enum class RuntimeKind : std::uint8_t { Containerd, Crio };
std::string_view to_string(RuntimeKind kind);
std::optional<RuntimeKind> runtime_kind_from(std::string_view text);

/// A handler that runs NVIDIA's runtime: named nvidia*, or its binary is nvidia-container-runtime*.
struct RuntimeHandler {
  std::string name;    ///< "nvidia", "nvidia-cdi"
  std::string binary;  ///< options.BinaryName, runtime_path; "" for the default binary
  std::string file;    ///< the file that defines it in the merged configuration

  bool operator==(const RuntimeHandler&) const = default;
};

/// A key or table that two files set, of which the merge keeps one.
struct ConfigConflict {
  std::string key;     ///< "plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia"
  std::string kept;    ///< the file that wins
  std::string lost;    ///< the file whose setting has no effect
  std::string effect;  ///< what is lost: "runtime nvidia", "default_runtime_name"

  bool operator==(const ConfigConflict&) const = default;
};

struct ContainerRuntime {
  static constexpr std::size_t kMaxItems = 32;

  RuntimeKind kind{};
  std::string flavour;                   ///< "rke2", "k3s", "microk8s", "k0s"; "" for the distribution's own
  std::string config;                    ///< its main file, whether it is there or not
  std::uint32_t config_version = 0;      ///< containerd: 1, 2, 3; 0: none (CRI-O)
  Fact<std::string> version;             ///< the daemon's, "1.7.24"; absent: no daemon is installed
  std::vector<RuntimeHandler> handlers;  ///< at most kMaxItems
  std::string default_runtime;           ///< "runc"
  bool cdi_enabled = false;
  std::vector<std::string> unimported;    ///< files with an nvidia handler that nothing imports
  std::vector<ConfigConflict> conflicts;  ///< at most kMaxItems
  /// Start of the running daemon; absent: it does not run.
  Fact<Time> started_at;
  /// The newest of the files that say something about nvidia; "" when none does.
  std::string newest_file;
  Time newest_change{};
  /// NVIDIA's toolkit on the host ("/usr/bin/nvidia-container-runtime"); "": not installed in the places it uses.
  std::string toolkit{};

  bool operator==(const ContainerRuntime&) const = default;
};

/// A CDI specification (etc/cdi, var/run/cdi) for NVIDIA devices.
struct CdiSpec {
  std::string path;
  std::string kind;            ///< "nvidia.com/gpu", "k8s.device-plugin.nvidia.com/gpu"
  std::uint32_t devices = 0;   ///< how many it names
  std::string driver_version;  ///< of the libraries it mounts (libcuda.so.550.90.07); "" when it names none

  bool operator==(const CdiSpec&) const = default;
};

inline constexpr std::size_t kMaxCdiSpecs = 16;

}  // namespace gpuskew
