#include "aggregator/matrix_file.h"

#include <sys/stat.h>

#include <utility>

#include "runtime/file.h"

namespace gpuskew {

Result<Matrix> load_matrix(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path, Matrix::kMaxBytes);
  if (!text) {
    return tl::unexpected(text.error());
  }
  Result<Matrix> matrix = Matrix::parse_csv(*text);
  if (!matrix) {
    return fail(path.string(), matrix.error());
  }
  return matrix;
}

bool MatrixFile::reload() {
  if (!path_) {
    bool changed = matrix_ != nullptr || error_;
    matrix_ = nullptr;
    error_ = std::nullopt;
    return changed;
  }
  // Before reading: a write in between is then noticed by the next poll.
  read_ = stamp();
  seen_ = read_;
  Result<Matrix> loaded = load_matrix(*path_);
  if (!loaded) {
    bool changed = error_ != loaded.error().what;
    error_ = loaded.error().what;
    return changed;
  }
  bool changed = error_.has_value() || matrix_ == nullptr || !(*matrix_ == *loaded);
  error_ = std::nullopt;
  if (changed) {
    matrix_ = std::make_shared<const Matrix>(std::move(*loaded));
  }
  return changed;
}

bool MatrixFile::poll() {
  if (!path_) {
    return false;
  }
  std::optional<Stamp> now = stamp();
  if (now == read_) {
    return false;
  }
  bool replaced = now && read_ && now->inode != read_->inode;
  bool settled = now == seen_;
  seen_ = now;
  return (replaced || settled) && reload();
}

MatrixStatus MatrixFile::status() const {
  MatrixStatus status;
  status.configured = path_.has_value();
  status.rows = matrix_ == nullptr ? 0 : matrix_->size();
  status.source = path_ ? path_->string() : "";
  status.error = error_;
  return status;
}

std::optional<MatrixFile::Stamp> MatrixFile::stamp() const {
  struct stat info {};
  if (::stat(path_->c_str(), &info) != 0) {
    return std::nullopt;
  }
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return Stamp{info.st_ino, info.st_size, info.st_mtim.tv_sec * kNanoseconds + info.st_mtim.tv_nsec};
}

}  // namespace gpuskew
