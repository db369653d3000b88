#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace gpuskew {
namespace {

/// An open descriptor, closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Removes a temporary file unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string name) : name_(std::move(name)) {}
  ~TemporaryFile() {
    if (!name_.empty()) {
      ::unlink(name_.c_str());
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void keep() { name_.clear(); }

 private:
  std::string name_;
};

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::Denied;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return ErrorCode::Malformed;
    case ETIMEDOUT:
      return ErrorCode::Timeout;
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EPIPE:
      return ErrorCode::Unreachable;
    default:
      return ErrorCode::Internal;
  }
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return tl::unexpected(errno_error("writing " + path, errno));
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> sync_directory(const std::filesystem::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems can not sync a directory (EINVAL) and order the rename themselves.
  if (opened.get() < 0 || (::fsync(opened.get()) != 0 && errno != EINVAL)) {
    return tl::unexpected(errno_error("syncing " + directory.string(), errno));
  }
  return {};
}

}  // namespace

Error errno_error(std::string_view context, int error_number) {
  std::string reason = std::generic_category().message(error_number);
  if (reason.size() > 1 && std::islower(static_cast<unsigned char>(reason[1])) != 0) {
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  }
  return Error{code_of(error_number), std::string(context) + ": " + reason};
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  const std::string context = "reading " + path.string();
  // O_NONBLOCK: a FIFO put in a file's place must not stop the daemon.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return tl::unexpected(errno_error(context, errno));
  }
  std::string content;
  constexpr std::size_t kStep = 16384;
  while (content.size() <= limit) {
    const std::size_t had = content.size();
    content.resize(had + kStep);
    const ssize_t got = ::read(file.get(), content.data() + had, kStep);
    const int error_number = errno;
    content.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) {
      break;
    }
    if (got < 0 && error_number != EINTR) {
      return tl::unexpected(errno_error(context, error_number));
    }
  }
  if (content.size() > limit) {
    return fail(ErrorCode::TooLarge, context + ": longer than " + std::to_string(limit) + " bytes");
  }
  return content;
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  const std::string context = "writing " + path.string();
  std::string temporary = (path.parent_path() / ("." + path.filename().string() + ".XXXXXX")).string();
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) {
    return tl::unexpected(errno_error(context, errno));
  }
  TemporaryFile cleanup(temporary);
  if (auto written = write_all(file.get(), bytes, path.string()); !written) {
    return written;
  }
  if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    return tl::unexpected(errno_error(context, errno));
  }
  cleanup.keep();
  return sync_directory(path.has_parent_path() ? path.parent_path() : std::filesystem::path("."));
}

}  // namespace gpuskew
