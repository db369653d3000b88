#pragma once

#include <string>
#include <string_view>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/snapshot.h"

namespace gpuskew {

struct NextBootEntry {
  /// Absent: no loader's configuration, and nothing says that there should be one. The error is NotFound where the
  /// loader takes a kernel that is none of the installed ones.
  Fact<NextKernel> kernel;
  /// It takes another ostree deployment than the running one: this kernel's modules there are not the ones seen here.
  bool is_other_deployment = false;
};

/// What the boot loader takes when nobody touches it: grub 2 (grub.cfg, grubenv, blscfg) or systemd-boot. Where the
/// files of several loaders are there and nothing proves which one is used, they have to agree. A kernel loaded for
/// kexec is left out.
NextBootEntry read_next_boot_entry(const HostRoot& root);

/// "ostree=" of a kernel's command line; "" without it.
std::string ostree_deployment(std::string_view command_line);

}  // namespace gpuskew
