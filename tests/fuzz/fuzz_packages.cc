// Package databases: dpkg's list, apt's log, and rpm's three kinds of files with the headers in them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "agent/probes/apt_history.h"
#include "agent/probes/dpkg_status.h"
#include "agent/probes/rpm_bdb.h"
#include "agent/probes/rpm_ndb.h"
#include "agent/probes/rpm_sqlite.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

ReadAt reader_of(std::string_view bytes) {
  return [bytes](std::uint64_t offset, std::size_t size) -> Result<std::string> {
    return std::string(offset < bytes.size() ? bytes.substr(offset, size) : std::string_view());
  };
}

bool any(std::string_view) {
  return true;
}

Result<std::vector<DpkgPackage>> scanned(std::string_view bytes, std::size_t block) {
  DpkgScanner scanner(any);
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    scanner.feed(bytes.substr(at, block));
  }
  return std::move(scanner).finish();
}

void try_dpkg(std::string_view bytes) {
  // Where the blocks end must not matter.
  constexpr std::size_t kSmallBlock = 13;
  const auto whole = scanned(bytes, bytes.size() + 1);
  const auto pieces = scanned(bytes, kSmallBlock);
  require(whole.has_value() == pieces.has_value());
  require(whole ? *whole == *pieces : whole.error() == pieces.error());
}

void try_rpm(std::string_view bytes) {
  const ReadAt file = reader_of(bytes);
  // A database and its log in one input: the log behind the middle.
  const ReadAt first_half = reader_of(bytes.substr(0, bytes.size() / 2));
  const ReadAt log = reader_of(bytes.substr(bytes.size() / 2));
  for (const auto& packages : {read_rpm_ndb(file, any), read_rpm_bdb(file, any), read_rpm_sqlite(file, nullptr, any),
                               read_rpm_sqlite(first_half, &log, any)}) {
    require(packages ? packages->size() <= kMaxWantedPackages : !packages.error().what.empty());
  }
  const auto header = rpm_package([bytes](std::size_t size) { return Result<std::string>(bytes.substr(0, size)); });
  require(header ? !header->name.empty() : !header.error().what.empty());
}

void try_apt(std::string_view bytes) {
  InstallTraces traces = {{InstallKind::Deb, InstallPart::UserSpace, "libcuda1", "2", "test"}};
  note_apt_changes(bytes, traces);
  for (const char c : traces.front().changed_by) {
    require(c >= ' ' && c <= '~');
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuskew::fuzz::try_dpkg(bytes);
  gpuskew::fuzz::try_rpm(bytes);
  gpuskew::fuzz::try_apt(bytes);
  return 0;
}
