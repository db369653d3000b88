#pragma once

// os-release(5) as data: never executed, nothing expanded. Rule of the format: shell-compatible
// assignments, the last of a key wins.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuskew {

struct OsRelease {
  /// Real files have some twenty keys. Keys past the limit are left out, with a note.
  static constexpr std::size_t kMaxFields = 256;
  /// The last note says that there were more.
  static constexpr std::size_t kMaxNotes = 32;

  std::map<std::string, std::string, std::less<>> fields;
  /// One note for each line that is not an assignment: "line 8: no '=' ..."; the rest still counts.
  std::vector<std::string> notes;

  /// nullopt when the key is not there; an empty value is a value.
  std::optional<std::string> get(std::string_view key) const;
};

/// Takes LF and CRLF, a BOM, single and double quotes, escapes, comments, a last line without an end. A line with a
/// control character, an open quote, joined quotes or blanks outside quotes is no assignment.
OsRelease parse_os_release(std::string_view text);

/// What a node's OS is called, in os-release's own words. `version_id` is missing on rolling systems
/// (Arch, Debian sid): BUILD_ID is no substitute for it.
struct OsIdentity {
  std::string id;
  std::optional<std::string> version_id;
  std::string pretty_name;
  std::string variant_id;
  std::string build_id;
  std::string ostree_version;

  bool operator==(const OsIdentity&) const = default;
};

/// nullopt when the file names no ID, or an empty one: os-release's default "linux" names no distribution.
std::optional<OsIdentity> os_identity(const OsRelease& release);

}  // namespace gpuskew
