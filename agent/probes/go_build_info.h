#pragma once

// What a Go program says of its own making: container runtimes are Go programs, and their version decides how their
// configuration is merged. Read from the file, never asked of the program.

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/probes/modinfo.h"
#include "core/result.h"

namespace gpuskew {

/// The module information of a program built by Go 1.18 or newer: lines of "path", "mod", "dep", "=>" and "build", with
/// tabs between their fields. Errors: those of find_elf_section; Malformed.
Result<std::string> read_go_build_info(const ReadAt& read_at);

struct ContainerdVersion {
  std::uint32_t major = 0;  ///< 0: not told
  std::uint32_t minor = 0;  ///< only with `text`
  std::string text;         ///< "1.7.24"; "" when only the major version is told, by the module's path

  bool operator==(const ContainerdVersion&) const = default;
};

/// What that information says of containerd: the linker's -X, the module's own version, or that of the dependency in a
/// program that has containerd inside (k3s). major 0 when there is no containerd in it.
ContainerdVersion containerd_version_in(std::string_view build_info);

/// "1.7.24" out of "v1.7.24-k3s1", "1.6.20~ds1-1+deb12u3"; major 0 for anything else, also for a commit's
/// pseudo-version of v0.0.0.
ContainerdVersion parse_containerd_version(std::string_view text);

}  // namespace gpuskew
