#pragma once

// A build's make.log: for which kernel it was, and what stopped it.

#include <optional>
#include <string>
#include <string_view>

#include "agent/host_root.h"
#include "core/result.h"

namespace gpuskew {

struct DkmsLog {
  std::string kernel;
  std::string architecture;
  /// The first line that tells an error; "" when none does: the build still runs, or was broken off.
  std::string error;

  bool operator==(const DkmsLog&) const = default;
};

/// nullopt where the log does not begin with dkms's line "... make.log for <module> for kernel <release> (<arch>)".
/// `text` may be a part of the log with that line in front.
std::optional<DkmsLog> parse_dkms_log(std::string_view text);

/// The log's beginning and its end: between them may be a megabyte of compiler calls.
Result<std::optional<DkmsLog>> read_dkms_log(const HostRoot& root, const std::string& path);

}  // namespace gpuskew
