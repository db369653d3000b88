#pragma once

// What `dkms status` prints, in both of its formats, to hold our reading of its tree against it.

#include <string>
#include <string_view>
#include <vector>

namespace gpuskew {

struct DkmsStatusLine {
  std::string module;
  std::string version;
  std::string kernel;        ///< "" for a module that is only added
  std::string architecture;  ///< "" with it
  std::string state;         ///< "added", "built", "installed"
  std::string note;          ///< "original_module exists"; "" without one

  bool operator==(const DkmsStatusLine&) const = default;
};

/// "nvidia, 396.45, 4.17.11-200.fc28.x86_64, x86_64: installed" (before dkms 3) and
/// "nvidia/510.47.03, 5.15.0-27-generic, x86_64: installed". Other lines (errors) are left out.
std::vector<DkmsStatusLine> parse_dkms_status(std::string_view text);

}  // namespace gpuskew
