#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace gpuskew {

enum class FileKind : std::uint8_t { Regular, Directory, Link, CharacterDevice, Other };

/// Of a stat's st_mode.
FileKind file_kind(std::uint32_t mode);

struct FileStatus {
  FileKind kind = FileKind::Other;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;          ///< bytes; procfs and sysfs report 0 or a page
  std::int64_t modified_ns = 0;    ///< since the Unix epoch
  std::uint32_t device_major = 0;  ///< of a device file, what it stands for; else 0
  std::uint32_t device_minor = 0;

  bool operator==(const FileStatus&) const = default;
};

/// An open file or directory of the host. Owns its descriptor.
class HostFile {
 public:
  HostFile(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  HostFile(HostFile&& other) noexcept;
  HostFile& operator=(HostFile&& other) noexcept;
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;
  ~HostFile();

  int descriptor() const { return descriptor_; }
  /// The path it was opened by, beneath the host root; for messages.
  const std::string& name() const { return name_; }
  Result<FileStatus> status() const;
  /// At most `size` bytes from `offset`; fewer at the end of the file.
  Result<std::string> read_at(std::uint64_t offset, std::size_t size) const;
  /// A path by which inotify_add_watch reaches this very file, wherever the root is mounted. Valid while it is open.
  std::string watch_path() const;

 private:
  int descriptor_ = -1;
  std::string name_;
};

/// "doing name: reason", with the code a host's file gives an errno: NotFound, Denied, Malformed (a loop of links, a
/// magic link, a path that is none), Internal.
tl::unexpected<Error> host_file_error(std::string_view doing, std::string_view name, int error_number);

}  // namespace gpuskew
