#pragma once

// The processes that matter to containers on a node, found without looking at all of them each time.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

struct RuntimeProcess {
  std::uint32_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< since boot, kTicksPerSecond of them a second
  std::string command;            ///< proc/<pid>/comm, at most 15 bytes
  std::vector<std::string> arguments;

  /// The value of "--name VALUE" or "--name=VALUE", the last one given; nullopt: not among the arguments.
  std::optional<std::string> option(std::initializer_list<std::string_view> names) const;

  bool operator==(const RuntimeProcess&) const = default;
};

/// The unit of proc/<pid>/stat's times, on every architecture this runs on.
inline constexpr std::int64_t kTicksPerSecond = 100;

/// containerd, CRI-O, kubelets, and what has a kubelet inside (k3s, RKE2, k0s, microk8s), of the host itself. Between
/// calls it keeps what it found, and looks at new pids only, twice: a process has its final name an instant after its
/// birth.
class RuntimeProcesses {
 public:
  static constexpr std::size_t kMaxFound = 16;
  /// A pid may be another process by now. Every so many looks all of them are looked at again.
  static constexpr int kLooksBeforeAll = 40;

  /// By pid. Errors: those of listing proc; what dies meanwhile is left out.
  Result<std::vector<RuntimeProcess>> look(const HostRoot& root);

 private:
  bool still_runs(const HostRoot& root, const RuntimeProcess& process) const;
  Result<void> scan(const HostRoot& root);

  std::vector<RuntimeProcess> found_;
  std::vector<std::uint32_t> looked_once_;   ///< of those that came since the first look; sorted
  std::vector<std::uint32_t> looked_twice_;  ///< sorted
  int looks_ = 0;
};

}  // namespace gpuskew
