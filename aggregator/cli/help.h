#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/cli/command_line.h"

namespace gpuskew {

struct CommandInfo {
  Command command;
  std::string_view name;
  std::vector<Format> formats;  ///< that make sense for it
  std::string_view help;
};

/// Every command, in the order of the help text.
const std::vector<CommandInfo>& all_commands();
const CommandInfo& info_of(Command command);

std::string_view to_string(Format format);

/// nullopt: the program's own.
std::string help_text(std::optional<Command> command);

}  // namespace gpuskew
