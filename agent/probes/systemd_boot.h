#pragma once

// Which entry systemd-boot takes by itself.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

/// An entry of its menu: a file of loader/entries, or a unified kernel image of EFI/Linux.
struct SystemdBootEntry {
  std::string id;  ///< the file's name in lower case, without boot counting
  std::string sort_key;
  std::string machine_id;
  std::string version;
  int tries_left = -1;  ///< -1: not counted
  int tries_done = -1;
  std::string file;         ///< that brings it, beneath the host root
  std::string image;        ///< the kernel's, beneath the host root
  bool is_unified = false;  ///< what `image` is
  std::string options;

  bool operator==(const SystemdBootEntry&) const = default;
};

/// What decides: the first of these patterns that matches an entry.
struct SystemdBootWishes {
  std::string once;           ///< the EFI variable LoaderEntryOneShot
  std::string variable;       ///< LoaderEntryDefault
  std::string last_booted;    ///< LoaderEntryLastBooted, for "@saved"
  std::string configuration;  ///< `default` of loader.conf
};

struct SystemdBootChoice {
  const SystemdBootEntry* entry = nullptr;
  std::string rule;
};

/// "Name+3-1.conf" as "name.conf" with 3 tries left and 1 done.
void name_entry(SystemdBootEntry& entry, std::string_view file);

/// In the menu's order: entries with no tries left last, by sort key where they have one, then the newest first.
void sort_as_systemd_boot(std::vector<SystemdBootEntry>& entries);

/// `entries` are sorted. Errors: NotFound without any entry, Unsupported where it depends on systemd-boot's version.
Result<SystemdBootChoice> choose_entry(const std::vector<SystemdBootEntry>& entries, const SystemdBootWishes& wishes);

/// The text of a loader's EFI variable (LoaderInfo, LoaderEntryDefault, ...). Absent ones are NotFound.
Result<std::string> read_loader_variable(const HostRoot& root, std::string_view name);

/// Whether a systemd-boot is installed on one of these partitions.
bool has_systemd_boot(const HostRoot& root);

/// Its choice on this host. Errors as above, and those of reading.
Result<SystemdBootEntry> read_systemd_boot_choice(const HostRoot& root, std::string& rule);

}  // namespace gpuskew
