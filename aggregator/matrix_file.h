#pragma once

// The support matrix as a file that people edit under a running aggregator. A broken edit keeps the last good matrix.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/matrix.h"
#include "core/result.h"

namespace gpuskew {

/// Errors name the file; what Matrix::parse_csv refuses is Malformed with line and column.
Result<Matrix> load_matrix(const std::filesystem::path& path);

/// What is told of the matrix in the API and the metrics.
struct MatrixStatus {
  bool configured = false;
  std::size_t rows = 0;
  std::string source;
  /// Why the file as it is now could not be taken; `rows` are then those of the last good one.
  std::optional<std::string> error;

  bool operator==(const MatrixStatus&) const = default;
};

class MatrixFile {
 public:
  /// nullopt: no matrix is configured.
  explicit MatrixFile(std::optional<std::filesystem::path> path) : path_(std::move(path)) {}

  /// Reads it again, whether or not it changed. true: there is another matrix, or another error, than before.
  bool reload();
  /// Call every few seconds. A file that was replaced (another inode) is read at once; one that is written in place
  /// only when it did not change between two calls, so that half a file is not taken for the whole.
  bool poll();
  /// Another file, or none, from the next reload() on.
  void set_path(std::optional<std::filesystem::path> path) { path_ = std::move(path); }

  /// nullptr: not configured, or never read well.
  const std::shared_ptr<const Matrix>& matrix() const { return matrix_; }
  MatrixStatus status() const;

 private:
  struct Stamp {
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> stamp() const;

  std::optional<std::filesystem::path> path_;
  std::optional<Stamp> read_;  ///< of the file when it was last read
  std::optional<Stamp> seen_;  ///< at the last poll
  std::shared_ptr<const Matrix> matrix_;
  std::optional<std::string> error_;
};

}  // namespace gpuskew
