#pragma once

// What the grub of this host boots by itself.

#include <optional>
#include <string>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

/// An image a boot loader would start, and how that was decided.
struct BootChoice {
  std::string image;  ///< beneath the host root
  std::string options;
  std::string rule;
};

/// The choice of the grub that reads this grub.cfg. nullopt: the file only hands over to another configuration. Errors:
/// Unsupported where it can not be told, NotFound where the entry's kernel is not there, and those of reading.
Result<std::optional<BootChoice>> read_grub_choice(const HostRoot& root, const std::string& config,
                                                   std::optional<bool> is_efi);

/// The file that a loader's path (on whatever partition it counts from) means on this host; "" where none is there.
std::string image_beneath(const HostRoot& root, const std::string& path);

}  // namespace gpuskew
