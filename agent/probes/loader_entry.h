#pragma once

// Boot menu entries as files (the Boot Loader Specification, type 1): boot/loader/entries/*.conf, read by grub's blscfg
// (Fedora, RHEL) and by systemd-boot.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

struct LoaderEntry {
  std::string file;  ///< "1f2e...-5.14.0-427.el9.x86_64.conf", as it is on disk
  std::string title;
  std::string version;
  std::string machine_id;
  std::string sort_key;
  std::string architecture;
  std::string kernel;   ///< `linux`, or `efi`/`uki`: a path on the entry's partition; "" for none
  std::string options;  ///< all `options` lines, with blanks between them

  bool operator==(const LoaderEntry&) const = default;
};

inline constexpr std::size_t kMaxLoaderEntries = 256;

/// Takes any bytes. Lines are "key value"; a key it does not know is left out, the last of a key wins.
LoaderEntry parse_loader_entry(std::string_view file, std::string_view text);

/// Those of `partition`/loader/entries, by file name, without links that lead nowhere and files gone since the listing.
/// NotFound where there is no such directory, and only there; the error of the first one that could not be read;
/// TooLarge past kMaxLoaderEntries.
Result<std::vector<LoaderEntry>> read_loader_entries(const HostRoot& root, const std::string& partition);

/// grub's blscfg order: the newest first, by the file names' name, version and release.
void sort_as_blscfg(std::vector<LoaderEntry>& entries);

/// The file's name without ".conf": the entry's id for grub.
std::string_view without_conf(std::string_view file);

}  // namespace gpuskew
