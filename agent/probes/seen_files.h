#pragma once

// Reading files and remembering which: what was read from them holds for as long as every one of them is the same.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

class SeenFiles {
 public:
  static constexpr std::size_t kMaxFiles = 128;

  /// As HostRoot's. What is not there is remembered too: its coming is a change. TooLarge past kMaxFiles.
  Result<FileStatus> status(const HostRoot& root, const std::string& path);
  Result<std::string> read(const HostRoot& root, const std::string& path, std::size_t limit);
  Result<std::vector<DirectoryEntry>> list(const HostRoot& root, const std::string& path, std::size_t limit);

  /// Whether each of them is what it was: the same inode, size and time of change, or still not there. A file whose
  /// status could not be read is never the same.
  bool same(const HostRoot& root) const;
  /// The remembered status; nullopt: not there, or never looked at.
  std::optional<FileStatus> known(std::string_view path) const;

 private:
  struct Seen {
    std::string path;
    std::optional<FileStatus> status;  ///< nullopt: not there
    bool unreadable = false;
  };
  std::vector<Seen> seen_;
};

}  // namespace gpuskew
