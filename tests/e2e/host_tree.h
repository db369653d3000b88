#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {

/// Writes a whole file by renaming a finished one over it, as a careful editor does; makes its folder.
void write_file(const std::filesystem::path& path, std::string_view content);
std::string read_file(const std::filesystem::path& path);

/// A private copy of a captured host tree, to be changed like a host that reboots.
class HostTree {
 public:
  /// `fixture` is a folder of tests/fixtures/hosts; the copy is made at `path`, which must not be there.
  HostTree(std::string_view fixture, std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view file, std::string_view content) const;
  void remove(std::string_view file) const;
  bool has(std::string_view file) const;

  /// Makes this host what another tree is, in one step as a reboot is.
  void become(std::string_view fixture);
  /// Takes the nvidia module out of the kernel: its sysfs and procfs files, and its hold on the GPUs.
  void unload_nvidia() const;
  /// Sets the boot id, and the boot time `seconds_ago` before now.
  void reboot(std::string_view boot_id, std::int64_t seconds_ago) const;

 private:
  std::filesystem::path path_;
};

inline constexpr std::string_view kHealthy = "healthy-ubuntu2204-550";
inline constexpr std::string_view kGone = "gpu-gone-after-bump";
inline constexpr std::string_view kNextKernel = "next-kernel-without-driver";
inline constexpr std::string_view kMismatch = "library-mismatch";

}  // namespace gpuskew
