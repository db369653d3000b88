// A grub.cfg and its surroundings: what stands before the first NUL is the configuration, behind it the environment
// block and whatever else it reads.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/probes/grub_config.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void try_script(std::string_view bytes) {
  const std::string_view script = bytes.substr(0, bytes.find('\0'));
  const std::string other(bytes.substr(script.size() < bytes.size() ? script.size() + 1 : bytes.size()));
  GrubSurroundings surroundings;
  surroundings.directory = "/boot/grub";
  surroundings.read = [&other](const std::string&) -> Result<std::string> {
    return other.empty() ? Result<std::string>(fail(ErrorCode::NotFound, "gone")) : Result<std::string>(other);
  };
  surroundings.loader_entries = [&other]() -> Result<std::vector<LoaderEntry>> {
    std::vector<LoaderEntry> entries{parse_loader_entry("a-1.conf", other), parse_loader_entry("a-2.conf", other)};
    sort_as_blscfg(entries);
    return entries;
  };
  const auto config = run_grub_config(script, surroundings);
  if (!config) {
    require(!config.error().what.empty());
    return;
  }
  require(config->menu.size() <= kMaxGrubEntries + 2 * bytes.size());
  const auto choice = default_entry(config->menu, config->chosen.text);
  require(choice ? choice->entry != nullptr && !choice->entry->is_submenu : !choice.error().what.empty());
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::try_script(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
