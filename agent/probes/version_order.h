#pragma once

// The two orders in which boot loaders sort kernels.

#include <string_view>

namespace gpuskew {

/// rpm's order, in which grub's blscfg sorts entries: negative, zero or positive as `a` is older, equal or newer.
int rpm_order(std::string_view a, std::string_view b);

/// The order of the UAPI group's version format specification, in which systemd-boot sorts.
int uapi_order(std::string_view a, std::string_view b);

}  // namespace gpuskew
