#pragma once

// dpkg's list of packages, read as a stream: the file is three megabytes on a desktop, and may be being anything.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gpuskew {

struct DpkgPackage {
  std::string name;
  std::string version;

  bool operator==(const DpkgPackage&) const = default;
};

/// Takes the file block by block, however it is cut, and keeps the packages asked for whose files are on this system:
/// installed, or unpacked and not configured (where the postinst of a dkms package failed). Removed ones that left
/// their configuration are none.
class DpkgScanner {
 public:
  using Wanted = std::function<bool(std::string_view name)>;
  static constexpr std::size_t kMaxLine = 512;  ///< of a longer one only the beginning is looked at
  static constexpr std::size_t kMaxFound = 512;

  /// `states`: stanzas say whether the package is installed. Those of distroless images (status.d) do not: there every
  /// one is.
  explicit DpkgScanner(Wanted wanted, bool states = true) : wanted_(std::move(wanted)), states_(states) {}

  void feed(std::string_view block);
  /// Malformed when this was no list of packages or ends inside one; TooLarge past kMaxFound.
  Result<std::vector<DpkgPackage>> finish() &&;

 private:
  void line_ends();
  void stanza_ends();
  void note(std::string what);

  Wanted wanted_;
  bool states_;
  std::string line_;
  bool line_open_ = false;
  std::string package_;
  std::string version_;
  std::string state_;
  std::size_t stanzas_ = 0;
  bool in_stanza_ = false;
  std::string problem_;
  bool too_many_ = false;
  std::vector<DpkgPackage> found_;
};

}  // namespace gpuskew
