#include "agent/host_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "runtime/file.h"

namespace gpuskew {

FileKind file_kind(std::uint32_t mode) {
  if (S_ISREG(mode)) {
    return FileKind::Regular;
  }
  if (S_ISDIR(mode)) {
    return FileKind::Directory;
  }
  if (S_ISCHR(mode)) {
    return FileKind::CharacterDevice;
  }
  return S_ISLNK(mode) ? FileKind::Link : FileKind::Other;
}

tl::unexpected<Error> host_file_error(std::string_view doing, std::string_view name, int error_number) {
  Error error = errno_error(std::string(doing).append(" ").append(name), error_number);
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      error.code = ErrorCode::NotFound;
      break;
    case EACCES:
    case EPERM:
      error.code = ErrorCode::Denied;
      break;
    case ELOOP:
    case EXDEV:
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
      error.code = ErrorCode::Malformed;
      break;
    default:
      error.code = ErrorCode::Internal;
  }
  return tl::unexpected<Error>(std::move(error));
}

Result<FileStatus> HostFile::status() const {
  struct stat raw {};
  if (::fstat(descriptor_, &raw) != 0) {
    return host_file_error("looking at", name_, errno);
  }
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  return FileStatus{file_kind(raw.st_mode),
                    raw.st_dev,
                    raw.st_ino,
                    static_cast<std::uint64_t>(raw.st_size),
                    static_cast<std::int64_t>(raw.st_mtim.tv_sec) * kNsPerSecond + raw.st_mtim.tv_nsec,
                    major(raw.st_rdev),
                    minor(raw.st_rdev)};
}

HostFile::HostFile(HostFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}

HostFile& HostFile::operator=(HostFile&& other) noexcept {
  HostFile taken(std::move(other));
  std::swap(descriptor_, taken.descriptor_);
  std::swap(name_, taken.name_);
  return *this;
}

HostFile::~HostFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<std::string> HostFile::read_at(std::uint64_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(descriptor_, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return host_file_error("reading", name_, errno);
    }
    if (got == 0) {
      break;
    }
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

std::string HostFile::watch_path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

}  // namespace gpuskew
