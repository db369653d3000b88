#pragma once

// The only way to a host's files. Every path is resolved beneath one root, so a fixture tree, a
// node and a container's /host mount are the same code, and no link leads out of any of them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/host_file.h"
#include "agent/open_beneath.h"
#include "core/result.h"

namespace gpuskew {

struct DirectoryEntry {
  std::string name;
  FileKind kind = FileKind::Other;  ///< of the entry itself: a link is a Link
  /// Of the entry itself, too. In sysfs no two things ever have the same one.
  std::uint64_t inode = 0;

  bool operator==(const DirectoryEntry&) const = default;
};

/// One host's files, read beneath a root: "/" on a node, /host in the DaemonSet, a fixture in tests. Links, absolute
/// ones too, resolve inside the root; magic links (/proc/1/root) are refused. Paths are absolute beneath the root
/// ("/etc/os-release"), and error messages name them so. Movable, not copyable; safe to share for reading.
///
/// Errors of all calls: NotFound, Denied, Malformed (a loop of links, a magic link, not the kind of file asked for),
/// TooLarge, Internal.
class HostRoot {
 public:
  static constexpr std::size_t kMaxFileBytes = 64u << 10;
  static constexpr std::size_t kMaxLineBytes = 4096;
  static constexpr std::size_t kMaxEntries = 64u << 10;
  static constexpr std::size_t kMaxLinks = 16;

  /// The link's name, and where it points as it is written in the link; both only for the time of the call.
  using VisitLink = std::function<void(std::string_view name, std::string_view target)>;

  /// `walk` is for tests; nullopt: the best this kernel offers.
  static Result<HostRoot> open(const std::filesystem::path& root, std::optional<PathWalk> walk = std::nullopt);

  /// A directory of this root as a root of its own, for a chroot such as /run/nvidia/driver.
  Result<HostRoot> beneath(std::string_view path) const;

  /// A whole regular file, or TooLarge past `limit` bytes. Devices, fifos and sockets are not opened at all.
  Result<std::string> read(std::string_view path, std::size_t limit = kMaxFileBytes) const;
  /// The same for a file of one line, as proc and sys have them: without its newline. TooLarge past kMaxLineBytes.
  Result<std::string> read_line(std::string_view path) const;
  /// The same for a file of proc or sys, which no device can stand in for: opened without a look at it first, for half
  /// the price. For files that are read by the hundred.
  Result<std::string> read_kernel_line(std::string_view path) const;
  /// A regular file, opened for reading.
  Result<HostFile> open_file(std::string_view path) const;
  /// Anything, only as a place (O_PATH): for inotify.
  Result<HostFile> open_path(std::string_view path) const;
  /// Every entry but "." and "..", sorted by name. TooLarge past `limit` entries, never a part of them.
  Result<std::vector<DirectoryEntry>> list(std::string_view path, std::size_t limit = kMaxEntries) const;
  /// Calls `visit` for each link in a directory, in the directory's own order, at one system call a link; returns how
  /// many there were. Entries of other kinds and links that can not be read (gone by then) are left out. TooLarge past
  /// `limit` entries, which is noticed only after `limit` of them were visited.
  Result<std::size_t> each_link(std::string_view path, std::size_t limit, const VisitLink& visit) const;
  /// Where a link points, as it is written in the link. Malformed when the path is no link.
  Result<std::string> read_link(std::string_view path) const;
  /// The file a chain of links ends at, as a path beneath this root. NotFound when the chain dangles, Malformed past
  /// kMaxLinks.
  Result<std::string> resolve(std::string_view path) const;
  /// Links are followed.
  Result<FileStatus> status(std::string_view path) const;

 private:
  HostRoot(HostFile directory, std::string prefix, PathWalk walk)
      : directory_(std::move(directory)), prefix_(std::move(prefix)), walk_(walk) {}
  static Result<std::string> read_to_end(const HostFile& file, std::size_t limit);
  Result<HostFile> open_place(std::string_view path, std::uint64_t flags, std::string_view doing) const;

  HostFile directory_;
  std::string prefix_;  ///< of a root made by beneath(), for messages
  PathWalk walk_;
};

}  // namespace gpuskew
