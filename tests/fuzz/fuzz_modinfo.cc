// Module files: ELF sections by their headers, the entry in a stream, and the three decompressors before it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/probes/decompress.h"
#include "agent/probes/modinfo.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

std::string scanned(std::string_view bytes, std::size_t block) {
  ModinfoScanner scanner;
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    scanner.feed(bytes.substr(at, block));
  }
  const ModuleIdentity found = scanner.finish();
  return (found.version ? found.version->text() : found.version.error().what) +
         (found.built_for ? found.built_for->text() : found.built_for.error().what) +
         (found.flavour ? std::string(to_string(*found.flavour)) : found.flavour.error().what);
}

void try_sections(std::string_view bytes) {
  const auto modinfo = find_modinfo([bytes](std::uint64_t offset, std::size_t size) -> Result<std::string> {
    return std::string(offset < bytes.size() ? bytes.substr(offset, size) : std::string_view());
  });
  if (modinfo) {
    require(modinfo->size() <= bytes.size());
    module_identity(*modinfo);
  } else {
    require(!modinfo.error().what.empty());
  }
}

void try_unpacking(std::string_view bytes) {
  const auto kind = compression_of(bytes);
  if (!kind) {
    return;
  }
  const int file = ::memfd_create("packed", MFD_CLOEXEC);
  require(file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  require(::lseek(file, 0, SEEK_SET) == 0);
  ModinfoScanner scanner;
  const auto unpacked = decompress(file, *kind, [&scanner](std::string_view block) { scanner.feed(block); });
  require(unpacked || !unpacked.error().what.empty());
  ::close(file);
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuskew::fuzz::try_sections(bytes);
  // Where the blocks end must not matter.
  constexpr std::size_t kSmallBlock = 13;
  gpuskew::fuzz::require(gpuskew::fuzz::scanned(bytes, kSmallBlock) == gpuskew::fuzz::scanned(bytes, size + 1));
  gpuskew::fuzz::try_unpacking(bytes);
  return 0;
}
