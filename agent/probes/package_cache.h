#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/host_file.h"
#include "core/facts/install.h"
#include "core/result.h"

namespace gpuskew {

using InstallTraces = std::vector<InstallTrace>;

/// Remembers what package databases said for as long as their files are the same: inode, size and time of change. What
/// could not be read is tried kMaxAttempts times, then its error stands until a file changes.
class PackageCache {
 public:
  static constexpr std::size_t kMaxEntries = 16;
  static constexpr int kMaxAttempts = 3;

  using Read = std::function<Result<InstallTraces>()>;
  /// `files`: what `read` looks at; a default-made status for one that is not there.
  Result<InstallTraces> get(const std::string& key, const std::vector<FileStatus>& files, const Read& read);

 private:
  struct Entry {
    std::vector<FileStatus> files;
    Result<InstallTraces> traces;
    int attempts = 0;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace gpuskew
