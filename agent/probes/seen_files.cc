#include "agent/probes/seen_files.h"

#include <algorithm>

namespace gpuskew {

Result<FileStatus> SeenFiles::status(const HostRoot& root, const std::string& path) {
  auto status = root.status(path);
  const bool known = std::any_of(seen_.begin(), seen_.end(), [&path](const Seen& seen) { return seen.path == path; });
  if (known) {
    return status;
  }
  if (seen_.size() == kMaxFiles) {
    return fail(ErrorCode::TooLarge, path + ": more than " + std::to_string(kMaxFiles) + " files to look at");
  }
  Seen seen{path, std::nullopt, false};
  if (status) {
    seen.status = *status;
  } else {
    seen.unreadable = status.error().code != ErrorCode::NotFound;
  }
  seen_.push_back(std::move(seen));
  return status;
}

Result<std::string> SeenFiles::read(const HostRoot& root, const std::string& path, std::size_t limit) {
  // Its status first: a file that changes while it is read is then not the same at the next look.
  if (auto seen = status(root, path); !seen) {
    return tl::unexpected(seen.error());
  }
  return root.read(path, limit);
}

Result<std::vector<DirectoryEntry>> SeenFiles::list(const HostRoot& root, const std::string& path, std::size_t limit) {
  if (auto seen = status(root, path); !seen) {
    return tl::unexpected(seen.error());
  }
  return root.list(path, limit);
}

bool SeenFiles::same(const HostRoot& root) const {
  return std::all_of(seen_.begin(), seen_.end(), [&root](const Seen& seen) {
    const auto now = root.status(seen.path);
    if (now) {
      return seen.status == *now;
    }
    return now.error().code == ErrorCode::NotFound && !seen.status && !seen.unreadable;
  });
}

std::optional<FileStatus> SeenFiles::known(std::string_view path) const {
  const auto found = std::find_if(seen_.begin(), seen_.end(), [path](const Seen& seen) { return seen.path == path; });
  return found == seen_.end() ? std::nullopt : found->status;
}

}  // namespace gpuskew
