#include "aggregator/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace gpuskew {

namespace {

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::Denied;
    case EWOULDBLOCK:
      return ErrorCode::Timeout;
    default:
      return ErrorCode::Internal;
  }
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
  if (fd < 0) {
    int error = errno;
    return fail(code_of(error), fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
  }
  FileLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    int error = errno;
    return fail(code_of(error), error == EWOULDBLOCK
                                    ? fmt::format("{}: another process holds it", path.string())
                                    : fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

}  // namespace gpuskew
