#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

/// Our own files (configuration, keys, state), not a host's: those are read beneath their root.
inline constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

/// A whole file. NotFound, Denied, TooLarge past `limit`; each names the path and the system's reason.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kMaxFileBytes);

/// The file has either its old content or all of the new, also after a power cut: temporary file beside it (a dot file,
/// which those who watch such directories pass over), fsync, rename, fsync of the directory. `mode` is not changed by
/// the umask. On an error the old file is as it was and no temporary one stays.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0600);

/// NotFound, Denied, ... for an errno, with "context: reason".
Error errno_error(std::string_view context, int error_number);

}  // namespace gpuskew
