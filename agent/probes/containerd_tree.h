#pragma once

// The plugin tables of containerd's configuration while its files are merged: each key with the file it came from.

#include <map>
#include <string>
#include <vector>

#include "agent/probes/containerd_files.h"
#include "agent/probes/toml.h"

namespace gpuskew {

/// Names of the CRI plugin: in version 1, in version 2, and of its half that runs containers from version 3 on.
inline constexpr const char* kCriVersion1 = "cri";
inline constexpr const char* kCriVersion2 = "io.containerd.grpc.v1.cri";
inline constexpr const char* kCriVersion3 = "io.containerd.cri.v1.runtime";

/// Keys are paths without "plugins"; the values live in the files, which must outlive the tree.
class ContainerdTree {
 public:
  struct Origin {
    const TomlSetting* setting = nullptr;
    const ContainerdFile* file = nullptr;
  };
  using Entries = std::map<TomlPath, Origin>;

  /// A value ends the table that was at its path, and the other way round.
  void set(const TomlPath& path, Origin origin);
  void erase(const TomlPath& path);
  /// `from` and what is in it, to `to`.
  void move(const TomlPath& from, const TomlPath& to);

  bool has(const TomlPath& path) const { return entries_.contains(path); }
  const Origin* find(const TomlPath& path) const;
  /// "" where there is no text.
  std::string text(const TomlPath& path) const;
  /// The names directly beneath a table.
  std::vector<std::string> names(const TomlPath& table) const;
  /// The table and everything in it.
  Entries beneath(const TomlPath& table) const;

 private:
  Entries entries_;
};

/// The plugin tables of one file.
ContainerdTree plugins_of(const ContainerdFile& file);

/// Whether a key or its text names NVIDIA.
bool mentions_nvidia(const TomlSetting& setting);
bool mentions_nvidia(const ContainerdTree::Entries& entries);

/// "runtime nvidia, default_runtime_name, sandbox_image": what these keys of a CRI plugin's table mean to a person, the
/// first few.
std::string meaning_of(const std::vector<TomlPath>& keys);

}  // namespace gpuskew
