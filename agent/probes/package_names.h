#pragma once

// Which packages bring a part of the driver, by their names. "Any package with nvidia in its name" is no rule: the
// container toolkit, settings programs, repositories' own packages and GPUDirect Storage are not the driver.

#include <optional>
#include <string>
#include <string_view>

#include "core/facts/install.h"

namespace gpuskew {

struct PackageRole {
  InstallKind kind{};
  InstallPart part{};

  bool operator==(const PackageRole&) const = default;
};

/// nullopt: no part of the driver. Packages that only hold sources or headers are none either.
std::optional<PackageRole> deb_role(std::string_view name);
std::optional<PackageRole> rpm_role(std::string_view name);

/// As both package managers allow names and versions: printable, no blanks. What is not plain was not written by them.
bool is_plain_package_text(std::string_view text);

/// The trace of a package; nullopt when it is no part of the driver.
std::optional<InstallTrace> deb_trace(std::string name, std::string version, std::string source);
std::optional<InstallTrace> rpm_trace(std::string name, std::string version, std::string source);

}  // namespace gpuskew
