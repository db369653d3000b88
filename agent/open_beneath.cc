#include "agent/open_beneath.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/host_file.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxLinkText = 4096;  // the kernel's PATH_MAX
// Under RESOLVE_IN_ROOT the kernel answers EAGAIN when a rename or mount raced with a "..".
constexpr int kMaxRaceRetries = 8;

int open_by_kernel(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long descriptor = -1;
  for (int tries = 0; tries < kMaxRaceRetries; ++tries) {
    descriptor = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (descriptor >= 0 || (errno != EAGAIN && errno != EINTR)) {
      break;
    }
  }
  return static_cast<int>(descriptor);
}

int fail_with(int error_number) {
  errno = error_number;
  return -1;
}

// procfs has links that are doors and no paths: what readlink says of them ("/", "socket:[7]") leads elsewhere.
bool is_magic_link(int link, std::string_view text) {
  struct statfs file_system {};
  const bool on_procfs = ::fstatfs(link, &file_system) == 0 && file_system.f_type == PROC_SUPER_MAGIC;
  return on_procfs && (text.starts_with('/') || text.find(':') != std::string_view::npos);
}

/// One walk: where it stands, and what is left of the path.
class Walk {
 public:
  Walk(int root, std::string_view path) : root_(root) { put_before(path); }

  int open_last(std::uint64_t flags) {
    for (;;) {
      const std::string name = next_name();
      if (name.empty()) {
        return ::openat(here(), ".", static_cast<int>(flags | O_CLOEXEC));
      }
      if (name == "..") {
        if (!above_.empty()) {
          above_.pop_back();
        }
        continue;
      }
      HostFile place(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC), name);
      struct stat status {};
      if (place.descriptor() < 0 || ::fstat(place.descriptor(), &status) != 0) {
        return -1;
      }
      const bool is_last = rest_.find_first_not_of('/') == std::string::npos;
      const bool is_link = S_ISLNK(status.st_mode);
      if (is_link && !(is_last && rest_.empty() && (flags & O_NOFOLLOW) != 0)) {
        if (!follow(place.descriptor())) {
          return -1;
        }
        continue;
      }
      if (is_last && rest_.empty()) {
        // O_NOFOLLOW: were it swapped for a link just now, the link would not be followed.
        return ::openat(here(), name.c_str(), static_cast<int>(flags | O_NOFOLLOW | O_CLOEXEC));
      }
      if (!S_ISDIR(status.st_mode)) {
        return fail_with(ENOTDIR);
      }
      if (above_.size() >= kMaxWalkDepth) {
        return fail_with(ENAMETOOLONG);
      }
      above_.push_back(std::move(place));
    }
  }

 private:
  int here() const { return above_.empty() ? root_ : above_.back().descriptor(); }

  // "" at the end of the path.
  std::string next_name() {
    for (;;) {
      const std::size_t begin = rest_.find_first_not_of('/');
      if (begin == std::string::npos) {
        rest_.clear();
        return "";
      }
      const std::size_t end = rest_.find('/', begin);
      std::string name = rest_.substr(begin, end == std::string::npos ? end : end - begin);
      rest_.erase(0, end == std::string::npos ? rest_.size() : end);
      if (name != ".") {
        return name;
      }
    }
  }

  void put_before(std::string_view path) {
    if (path.starts_with('/')) {
      above_.clear();
    }
    rest_.insert(0, path);
  }

  bool follow(int link) {
    if (++links_ > kMaxWalkLinks) {
      errno = ELOOP;
      return false;
    }
    std::array<char, kMaxLinkText> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by readlinkat
    const ssize_t length = ::readlinkat(link, "", text.data(), text.size());
    if (length < 0) {
      return false;
    }
    const std::string_view target(text.data(), static_cast<std::size_t>(length));
    if (is_magic_link(link, target)) {
      errno = ELOOP;
      return false;
    }
    put_before(target);
    return true;
  }

  int root_;
  std::vector<HostFile> above_;  ///< the directories from the root to here, which ".." goes back through
  std::string rest_;
  std::size_t links_ = 0;
};

}  // namespace

PathWalk best_path_walk(int root) {
  const int probe = open_by_kernel(root, "/", O_PATH | O_DIRECTORY);
  if (probe >= 0) {
    ::close(probe);
    return PathWalk::Kernel;
  }
  // ENOSYS: an old kernel. EPERM: a seccomp profile that does not know openat2.
  return errno == ENOSYS || errno == EPERM ? PathWalk::OwnWalk : PathWalk::Kernel;
}

int open_beneath(int root, const std::string& path, std::uint64_t flags, PathWalk walk) {
  if (walk == PathWalk::Kernel) {
    return open_by_kernel(root, path, flags);
  }
  if (path.empty()) {
    return fail_with(ENOENT);
  }
  return Walk(root, path).open_last(flags);
}

}  // namespace gpuskew
