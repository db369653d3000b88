#include "agent/probes/rpm_ndb.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuskew {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlot = 16;        // "Slot", package, first block, blocks
constexpr std::size_t kFileHeader = 32;  // "RpmP", version, generation, pages of slots, next package
constexpr std::size_t kBlock = 16;
constexpr std::size_t kBlobHeader = 16;  // "BlbS", package, generation, length
constexpr std::size_t kMaxSlotPages = kMaxPackages * kSlot / kPage;

Result<void> read_blob(const ReadAt& file, std::string_view slot, PackageFilter wanted,
                       std::vector<RpmPackage>& packages) {
  const std::uint32_t package = little_endian32(slot, 4);
  const std::uint64_t place = std::uint64_t{little_endian32(slot, 8)} * kBlock;
  const auto head = read_exactly(file, place, kBlobHeader);
  if (!head) {
    return tl::unexpected(head.error());
  }
  if (!head->starts_with("BlbS") || little_endian32(*head, 4) != package) {
    return fail(ErrorCode::Malformed, "package " + std::to_string(package) + " is not where its slot says");
  }
  const std::size_t length = little_endian32(*head, 12);
  const auto prefix = [&](std::size_t size) { return file(place + kBlobHeader, std::min(size, length)); };
  return add_if_wanted(prefix, wanted, packages);
}

}  // namespace

Result<std::vector<RpmPackage>> read_rpm_ndb(const ReadAt& file, PackageFilter wanted) {
  const auto header = read_exactly(file, 0, kFileHeader);
  if (!header) {
    return tl::unexpected(header.error());
  }
  if (!header->starts_with("RpmP") || little_endian32(*header, 4) != 0) {
    return fail(ErrorCode::Malformed, "not a package database of rpm (ndb, version 0)");
  }
  const std::size_t pages = little_endian32(*header, 12);
  if (pages == 0 || pages > kMaxSlotPages) {
    return fail(ErrorCode::TooLarge,
                std::to_string(pages) + " pages of slots; " + std::to_string(kMaxSlotPages) + " are the limit");
  }
  std::vector<RpmPackage> packages;
  for (std::size_t page = 0; page < pages; ++page) {
    const auto slots = read_exactly(file, page * kPage, kPage);
    if (!slots) {
      return tl::unexpected(slots.error());
    }
    for (std::size_t at = page == 0 ? kFileHeader : 0; at < kPage; at += kSlot) {
      const std::string_view slot = std::string_view(*slots).substr(at, kSlot);
      if (!slot.starts_with("Slot")) {
        return fail(ErrorCode::Malformed, "a slot of packages is damaged");
      }
      if (little_endian32(slot, 8) == 0) {
        continue;  // free
      }
      if (const auto read = read_blob(file, slot, wanted, packages); !read) {
        return tl::unexpected(read.error());
      }
    }
  }
  return packages;
}

}  // namespace gpuskew
