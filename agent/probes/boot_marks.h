#pragma once

// What the host has planned for its next boot: services that build modules, and a reboot that was asked for.

#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

/// Services that build missing modules while the node boots, where systemd starts them: a link in some target's
/// .wants, the unit itself there and not masked.
Fact<std::vector<BootBuilder>> read_boot_builders(const HostRoot& root);

/// run/reboot-required with its list of packages (Debian, Ubuntu), run/reboot-needed (SUSE). Others leave no mark.
Fact<RebootRequired> read_reboot_required(const HostRoot& root);

}  // namespace gpuskew
