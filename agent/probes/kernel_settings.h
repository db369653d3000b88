#pragma once

// What the kernel was started with, and what it allows to be loaded.

#include <optional>
#include <string>

#include "agent/host_root.h"
#include "core/fact.h"

namespace gpuskew {

/// proc/cmdline in one line, '?' for every byte that is not printable ASCII.
Fact<std::string> read_command_line(const HostRoot& root);

/// "none", "integrity" or "confidentiality" of sys/kernel/security/lockdown. Absent: securityfs is there, or sysfs
/// without a place for it, and has no such file.
Fact<std::string> read_lockdown(const HostRoot& root);

/// The firmware's SecureBoot variable. Known and false where the firmware has none, as the kernel takes it. Absent: not
/// an EFI boot.
Fact<bool> read_secure_boot(const HostRoot& root);

/// Every read of an EFI variable is a call into the firmware, and the answer stands for the whole boot.
class SecureBootMemory {
 public:
  /// Asks the firmware once for each boot id, until it has answered.
  const Fact<bool>& read(const HostRoot& root, const Fact<std::string>& boot_id);

 private:
  std::optional<std::string> boot_id_;  ///< of the boot `answer_` belongs to; nullopt: no answer that lasts
  Fact<bool> answer_;
};

}  // namespace gpuskew
