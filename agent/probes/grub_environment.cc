#include "agent/probes/grub_environment.h"

#include <algorithm>

namespace gpuskew {

Result<GrubEnvironment> parse_grub_environment(std::string_view block) {
  constexpr std::string_view kSignature = "# GRUB Environment Block\n";
  if (!block.starts_with(kSignature)) {
    return fail(ErrorCode::Malformed, "no grub environment block: it does not begin with '# GRUB Environment Block'");
  }
  block.remove_prefix(kSignature.size());
  GrubEnvironment environment;
  while (!block.empty()) {
    // A backslash takes the special meaning off the next byte, a newline included.
    std::string line;
    std::size_t at = 0;
    for (; at < block.size() && block[at] != '\n'; ++at) {
      if (block[at] == '\\' && at + 1 < block.size()) {
        ++at;
      }
      line += block[at];
    }
    const bool whole = at < block.size();
    block.remove_prefix(std::min(at + 1, block.size()));
    const std::size_t equals = line.find('=');
    // The rest of the block is padded with '#', without a newline behind it.
    if (!whole || line.starts_with('#') || equals == std::string::npos || equals == 0) {
      continue;
    }
    environment.insert_or_assign(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

}  // namespace gpuskew
