#pragma once

// What a grub.cfg comes to when grub runs it: a menu, and the entry it takes by itself. The file is a script, so it is
// followed: variables, conditions, the environment block, files it sources. A condition that no file answers (the
// firmware, a key held down) is taken both ways, and what depends on it is not known.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/grub_environment.h"
#include "agent/probes/grub_menu.h"
#include "agent/probes/loader_entry.h"
#include "core/result.h"

namespace gpuskew {

/// What the script may ask about the world outside of it.
struct GrubSurroundings {
  /// Where the configuration lies: what $prefix and $config_directory stand for.
  std::string directory;
  std::optional<bool> is_efi;
  /// A file of that directory; NotFound when it is not there.
  std::function<Result<std::string>(const std::string& path)> read;
  /// The entries blscfg would find, sorted.
  std::function<Result<std::vector<LoaderEntry>>()> loader_entries;
};

struct GrubConfig {
  std::vector<GrubEntry> menu;
  GrubValue chosen;       ///< the variable "default"; empty: the first entry
  std::string chosen_by;  ///< "saved_entry of grubenv", "next_entry of grubenv", "grub.cfg"
  bool uses_blscfg = false;
  std::string other_file;  ///< the script hands over to this configuration and has no menu of its own; "" for none
};

inline constexpr std::size_t kMaxGrubConfig = 1u << 20;
inline constexpr std::size_t kMaxGrubEntries = 1024;

/// Errors: Malformed (nested too deeply), TooLarge, Unsupported where the menu itself can not be told, and what the
/// surroundings' functions return.
Result<GrubConfig> run_grub_config(std::string_view text, const GrubSurroundings& surroundings);

}  // namespace gpuskew
