// Configurations of container runtimes: TOML, the merge of several files by every rule, CDI specifications, and what Go
// programs say of themselves. Files are separated by a NUL.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/cdi_spec.h"
#include "agent/probes/containerd_merge.h"
#include "agent/probes/go_build_info.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

constexpr std::size_t kMaxParts = 4;

void try_merge(std::string_view bytes) {
  std::vector<ContainerdFile> files;
  while (!bytes.empty() && files.size() < kMaxParts) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    auto file = parse_containerd_file("file-" + std::to_string(files.size()), bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (!file) {
      require(file.error().what.starts_with("file-"));
      return;
    }
    require(file->settings.size() <= kMaxTomlSettings);
    files.push_back(std::move(*file));
  }
  for (const auto rules : {ContainerdRules::Replace, ContainerdRules::ReplaceAnyVersion, ContainerdRules::MigrateMerged,
                           ContainerdRules::MigrateEach}) {
    const auto merge = merge_containerd(files, rules);
    if (!merge) {
      require(!merge.error().what.empty());
      continue;
    }
    require(merge->conflicts.size() <= ContainerRuntime::kMaxItems);
    require(!merge->default_runtime.empty());
    // One file has nobody to be in conflict with but itself.
    for (const ConfigConflict& conflict : merge->conflicts) {
      require(files.size() > 1 || conflict.kept == conflict.lost);
      require(!conflict.effect.empty());
    }
    for (const RuntimeHandler& handler : merge->handlers) {
      require(handler.file.starts_with("file-"));
    }
  }
}

std::string scanned(std::string_view bytes, std::size_t block) {
  CdiSpecScanner scanner;
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    scanner.feed(bytes.substr(at, block));
  }
  scanner.finish();
  return scanner.kind() + "|" + std::to_string(scanner.devices()) + "|" + scanner.driver_version();
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuskew::fuzz::try_merge(bytes);
  constexpr std::size_t kSmallBlock = 13;
  gpuskew::fuzz::require(gpuskew::fuzz::scanned(bytes, kSmallBlock) == gpuskew::fuzz::scanned(bytes, size + 1));
  const auto version = gpuskew::containerd_version_in(bytes);
  gpuskew::fuzz::require(version.text.empty() || version.major > 0);
  const auto info =
      gpuskew::read_go_build_info([bytes](std::uint64_t offset, std::size_t wanted) -> gpuskew::Result<std::string> {
        return std::string(offset < bytes.size() ? bytes.substr(offset, wanted) : std::string_view());
      });
  gpuskew::fuzz::require(info || !info.error().what.empty());
  return 0;
}
