#pragma once

// grub's environment block (grubenv): what grub-reboot, grub-set-default and a kernel's installation leave for the next
// boot.

#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

using GrubEnvironment = std::map<std::string, std::string, std::less<>>;

/// grub-editenv's block has 1024 bytes; grub itself takes larger ones.
inline constexpr std::size_t kMaxGrubEnvironment = 64u << 10;

/// Malformed when the signature is missing (then grub takes nothing from it, either).
Result<GrubEnvironment> parse_grub_environment(std::string_view block);

}  // namespace gpuskew
