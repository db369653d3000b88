#pragma once

// What the files about modules said, kept for as long as they are the same files: a node has several kernels, each with
// a modules.dep of half a megabyte and a module that may take a second to unpack.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/host_root.h"
#include "agent/probes/module_identity.h"

namespace gpuskew {

/// Whether a file of this name is the nvidia module itself, as some distribution calls it: nvidia.ko,
/// nvidia-current.ko, nvidia_352.ko, nvidia-tesla-470.ko, each also .xz, .zst or .gz. nvidia-uvm.ko and nvidiafb.ko are
/// other modules.
bool is_nvidia_module_name(std::string_view file_name);

/// "The same file" means: device, inode, size and time of change.
class ModuleCache {
 public:
  /// More than a node has; past it everything is read anew.
  static constexpr std::size_t kMaxFiles = 160;
  /// A file that could not be read is tried so often, then its error stands until the file changes.
  static constexpr int kMaxAttempts = 3;
  /// For all files that one pass reads; a file past it is unknown until the next pass.
  static constexpr std::chrono::seconds kPassBudget{30};

  /// Starts a pass: one reading of the node.
  void begin_pass();

  /// What the module file says. Every error names the file.
  ModuleIdentity identity(const HostRoot& root, const std::string& path);

  /// The nvidia modules that a modules.dep names, as it names them. Empty where there is no such file; the error of one
  /// that can not be read to its end.
  Result<std::vector<std::string>> named_in_dependencies(const HostRoot& root, const std::string& path);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // device and inode

  struct Module {
    FileStatus status;
    ModuleIdentity identity;
    int attempts = 0;
  };
  struct Dependencies {
    FileStatus status;
    std::vector<std::string> modules;
  };

  std::map<Key, Module> modules_;
  std::map<Key, Dependencies> dependencies_;
  std::chrono::steady_clock::duration spent_{};
};

}  // namespace gpuskew
