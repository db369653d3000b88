#pragma once

#include <filesystem>

#include "core/result.h"

namespace gpuskew {

/// An exclusive lock on a file it creates, gone with the process however that ends. The file itself stays.
class FileLock {
 public:
  /// Errors: Timeout (another process holds it; there is no wait), Denied, NotFound, Internal.
  static Result<FileLock> acquire(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace gpuskew
