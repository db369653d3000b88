#pragma once

// Opening a path so that nothing in it, no link and no "..", leads out of a root directory.

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuskew {

enum class PathWalk : std::uint8_t {
  Kernel,   ///< openat2 resolves the path in one call (Linux 5.6 and newer)
  OwnWalk,  ///< name by name, for older kernels (RHEL 8, Ubuntu 20.04) and sandboxes that forbid openat2
};

/// What this kernel and sandbox offer.
PathWalk best_path_walk(int root);

/// `flags` as for open(2); O_CLOEXEC is added. Absolute links start at `root`, and ".." stops there. Links on procfs
/// that are no paths (proc/1/root, proc/1/fd/3) are refused with ELOOP. -1 and errno on error; the caller owns the
/// result.
int open_beneath(int root, const std::string& path, std::uint64_t flags, PathWalk walk);

/// As the kernel's own limit, over one path; beyond it ELOOP.
inline constexpr std::size_t kMaxWalkLinks = 40;
/// Directories below the root; beyond it ENAMETOOLONG.
inline constexpr std::size_t kMaxWalkDepth = 128;

}  // namespace gpuskew
