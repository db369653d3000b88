#pragma once

// What a kernel module says of itself: NUL-separated "key=value" entries in the ELF section .modinfo. An uncompressed
// file is read through its section headers, a few kilobytes of it; a compressed one only comes as a stream, in which
// the entries themselves are looked for.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/probes/byte_order.h"
#include "core/result.h"
#include "core/version.h"

namespace gpuskew {

/// The .modinfo section of a 64-bit little-endian ELF file. Errors: Malformed, TooLarge (past the limits in the source
/// file), and what `read_at` returns.
Result<std::string> find_modinfo(const ReadAt& read_at);

/// Any section of such a file, by its name (".go.buildinfo"); the same errors, TooLarge past `limit` bytes.
Result<std::string> find_elf_section(const ReadAt& read_at, std::string_view name, std::size_t limit);

/// The value of the first entry with this key.
std::optional<std::string_view> modinfo_value(std::string_view modinfo, std::string_view key);

/// What an nvidia module says of itself; each part known or not for itself.
struct ModuleIdentity {
  Result<DriverVersion> version;
  Result<KernelRelease> built_for;  ///< the first word of its vermagic
  Result<ModuleFlavour> flavour;    ///< by its license

  /// Nothing is known, for one and the same reason.
  static ModuleIdentity unknown(const Error& why);
  bool is_whole() const { return version && built_for && flavour; }
};

/// Errors inside are Malformed: the entry is missing, or no value of its kind.
ModuleIdentity module_identity(std::string_view modinfo);

/// Looks for the same entries in a module's bytes as they come.
class ModinfoScanner {
 public:
  void feed(std::string_view block);
  /// Malformed for each entry that did not come, or that came with several values: then a guess would be needed.
  ModuleIdentity finish() const;

 private:
  template <class Value>
  struct Found {
    std::optional<Value> first;
    std::optional<Value> other;
  };

  void take(std::string_view key, std::string_view value);

  std::string tail_;  ///< the end of what was fed, where an entry may have been cut
  Found<DriverVersion> version_;
  Found<KernelRelease> built_for_;
  Found<ModuleFlavour> flavour_;
};

}  // namespace gpuskew
