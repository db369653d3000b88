#pragma once

// Processes and clocks of a made-up host, as the probes of the container runtime see them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"
#include "core/time.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {

inline constexpr Time kRuntimeBoot = from_unix_ms(1'790'000'000'000);

inline Fact<Time> runtime_boot() {
  return Fact<Time>::known(kRuntimeBoot, "/proc/stat");
}

/// proc/<pid> of a process that was started `ticks` hundredths of a second after the boot.
inline void write_process(const ScratchTree& tree, std::uint32_t pid, std::string_view command,
                          const std::vector<std::string>& arguments, std::uint64_t ticks = 1000) {
  const std::string home = "/proc/" + std::to_string(pid);
  std::string line;
  for (const std::string& argument : arguments) {
    line += argument + '\0';
  }
  tree.write(home + "/comm", std::string(command) + "\n");
  tree.write(home + "/cmdline", line);
  tree.write(home + "/stat", std::to_string(pid) + " (" + std::string(command) +
                                 ") S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(ticks) +
                                 " 1 2 3\n");
}

/// A file's time of change.
inline void set_changed(const ScratchTree& tree, std::string_view file, Time at) {
  const std::filesystem::path path = tree.path() / std::filesystem::path(file).relative_path();
  const auto since = std::chrono::file_clock::from_sys(std::chrono::sys_time<std::chrono::nanoseconds>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch())));
  std::filesystem::last_write_time(path, since);
}

}  // namespace gpuskew
