#pragma once

// What a kernel module says of itself: NUL-separated "key=value" entries in the ELF section .modinfo. An uncompressed
// file is read through its section headers, a few kilobytes of it; a compressed one only comes as a stream, in which
// the entry itself is looked for.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/version.h"

namespace gpuskew {

/// At most `size` bytes from `offset`; fewer only at the end of the file.
using ReadAt = std::function<Result<std::string>(std::uint64_t offset, std::size_t size)>;

/// The .modinfo section of a 64-bit little-endian ELF file. Errors: Malformed, TooLarge (past the limits in the source
/// file), and what `read_at` returns.
Result<std::string> find_modinfo(const ReadAt& read_at);

/// The value of the first entry with this key.
std::optional<std::string_view> modinfo_value(std::string_view modinfo, std::string_view key);

/// Looks for the `version=` entry in a module's bytes as they come.
class ModinfoScanner {
 public:
  void feed(std::string_view block);
  /// Malformed when no entry held a driver version, or when several differ: then a guess would be needed.
  Result<DriverVersion> finish() const;

 private:
  std::string tail_;  ///< the end of what was fed, where an entry may have been cut
  std::optional<DriverVersion> version_;
  std::optional<DriverVersion> other_;
};

}  // namespace gpuskew
