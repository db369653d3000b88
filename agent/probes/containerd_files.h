#pragma once

// containerd's configuration as files: the main one and what it imports, each for itself, in the order in which
// containerd takes them. Merging them is containerd_merge.h's business.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "agent/probes/seen_files.h"
#include "agent/probes/toml.h"
#include "core/result.h"

namespace gpuskew {

/// The ways of merging. Told by the daemon's version, and for versions of 2.x that are not known by trying.
enum class ContainerdRules : std::uint8_t {
  /// Late 1.7: a plugin's table in a later file replaces the earlier one whole. Configuration versions 1 and 2.
  Replace,
  /// Before that: the same, but a version above 2 is taken for 2, and a relative pattern starts at the daemon's working
  /// directory, which is the root.
  ReplaceAnyVersion,
  /// 2.0 to 2.2: key by key. The last version line decides for all files whether a version 2 table is taken over to
  /// version 3's name; a file without one counts as the version before it, so that a version 1 table is never read.
  MigrateMerged,
  /// From 2.3: each file is brought to version 4 by itself, then key by key.
  MigrateEach,
};

struct ContainerdFile {
  std::string path;
  std::uint32_t version = 0;  ///< 0: the file does not say, which containerd takes for 1
  std::vector<std::string> imports;
  std::vector<std::string> disabled_plugins;
  std::vector<TomlSetting> settings;  ///< all of them, also the above
};

inline constexpr std::size_t kMaxContainerdFiles = 64;

/// `path` is for messages. Errors: Malformed and TooLarge with FILE:LINE.
Result<ContainerdFile> parse_containerd_file(const std::string& path, std::string_view text);

/// One file. Errors: HostRoot's; Malformed and TooLarge with FILE:LINE where its text is not what containerd takes.
Result<ContainerdFile> read_containerd_file(const HostRoot& root, const std::string& path, SeenFiles& seen);

/// The main file and its imports, breadth first, each once. A path with a '*' is a pattern that may match nothing; any
/// other import has to be there, as containerd itself insists. Relative paths start at the importing file's directory.
/// Errors: as above, with "FILE imports FILE" in front; TooLarge past kMaxContainerdFiles.
Result<std::vector<ContainerdFile>> read_containerd_files(const HostRoot& root, const std::string& main_file,
                                                          ContainerdRules rules, SeenFiles& seen);

/// The paths beneath `root` that match a pattern of '*', '?' and '[...]' in any of its parts, sorted. What is not there
/// matches nothing.
Result<std::vector<std::string>> matching_paths(const HostRoot& root, std::string_view pattern, SeenFiles& seen);

}  // namespace gpuskew
