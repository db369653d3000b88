#include "agent/nfd_file.h"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/file.h"

namespace gpuskew {
namespace {

/// nfd-worker may run as another user.
constexpr mode_t kReadableByAll = 0644;

}  // namespace

std::string nfd_feature_text(const Labels& labels, Time expires) {
  std::string text = "# +expiry-time=" + to_rfc3339(expires) + "\n";
  for (const auto& [key, value] : labels) {
    text += key + "=" + value + "\n";
  }
  return text;
}

Result<void> NfdFile::check() const {
  if (::access(path_.parent_path().c_str(), W_OK | X_OK) != 0) {
    return tl::unexpected(errno_error("NFD's feature files: writing in " + path_.parent_path().string(), errno));
  }
  return {};
}

Result<bool> NfdFile::publish(const Labels& labels, Time now) {
  // A clock that was set back would keep the file alive for longer than was meant.
  const bool is_fresh = expires_ - now > kNfdRefresh && expires_ - now <= kNfdLifetime;
  if (is_fresh && written_ == nfd_feature_text(labels, expires_)) {
    const auto there = read_file(path_, kMaxNfdFileBytes);
    if (there && *there == written_) {
      return false;
    }
  }
  const Time expires = now + kNfdLifetime;
  std::string text = nfd_feature_text(labels, expires);
  if (text.size() > kMaxNfdFileBytes) {
    return fail(ErrorCode::TooLarge,
                path_.string() + ": NFD reads no more than " + std::to_string(kMaxNfdFileBytes) + " bytes");
  }
  if (auto done = write_file_atomically(path_, text, kReadableByAll); !done) {
    return tl::unexpected(done.error());
  }
  written_ = std::move(text);
  expires_ = expires;
  return true;
}

}  // namespace gpuskew
