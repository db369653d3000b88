#pragma once

// The version a module file on disk carries. Compressed files are unpacked in a child process with limits and a
// deadline: their decoders read what any package may have put there.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "agent/host_root.h"
#include "core/result.h"
#include "core/version.h"

namespace gpuskew {

/// Unpacking the largest nvidia.ko.xz takes about a second of CPU.
inline constexpr std::chrono::seconds kDecompressDeadline{10};

/// From the file's .modinfo. Errors: those of HostRoot; Malformed (no module, no driver version in it), TooLarge,
/// Timeout past kDecompressDeadline.
Result<DriverVersion> read_module_version(const HostRoot& root, const std::string& path);

/// Remembers what files said for as long as they are the same file: inode, size and time of change. A file that could
/// not be read is tried kMaxAttempts times, then its error stands until the file changes.
class ModuleVersionCache {
 public:
  static constexpr std::size_t kMaxFiles = 16;
  static constexpr int kMaxAttempts = 3;

  Result<DriverVersion> read(const HostRoot& root, const std::string& path);

 private:
  struct Entry {
    FileStatus status;
    Result<DriverVersion> version;
    int attempts = 0;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace gpuskew
