#pragma once

// Kernels and boot loaders as hosts have them, for tests. The grub.cfg is of grub-mkconfig's shape, as short as it may
// be with every kind of command that bears on the default entry.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {

/// The first bytes of a bzImage of this release.
std::string bzimage(std::string_view release);
/// A PE file with these sections (".linux", ".uname", ".osrel").
std::string unified_image(const std::vector<std::pair<std::string, std::string>>& sections);

/// boot/vmlinuz-<release> and lib/modules/<release>.
void install_kernel(const ScratchTree& tree, std::string_view release);

/// A configuration with a first entry of the newest (first) kernel, a submenu with all of them and their recovery
/// entries, and an entry of the firmware's. `chosen` is what stands behind "set default=", quotes included.
std::string grub_config(const std::vector<std::string>& releases, std::string_view chosen,
                        std::string_view boot = "/boot");

/// grubenv, padded to its 1024 bytes.
std::string grub_environment(std::string_view lines);

/// A loader entry's text.
std::string loader_entry(std::string_view title, std::string_view version, std::string_view linux_path,
                         std::string_view more = "");

/// The bytes of an EFI variable that holds this text.
std::string efi_text(std::string_view text);

}  // namespace gpuskew
