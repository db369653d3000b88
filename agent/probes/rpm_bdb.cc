#include "agent/probes/rpm_bdb.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuskew {
namespace {

// The first page: what kind of database this is, and where its buckets are.
constexpr std::size_t kMetaSize = 512;
constexpr std::size_t kMagicAt = 12;
constexpr std::size_t kVersionAt = 16;
constexpr std::size_t kPageSizeAt = 20;
constexpr std::size_t kEncryptionAt = 24;
constexpr std::size_t kLastPageAt = 32;
constexpr std::size_t kMaxBucketAt = 72;
constexpr std::size_t kSparesAt = 96;  // for each doubling of the table, what leads from bucket to page
constexpr std::size_t kSpares = 32;
constexpr std::uint32_t kHashMagic = 0x061561;
constexpr std::uint32_t kOldestVersion = 8;
constexpr std::uint32_t kNewestVersion = 10;

// Every other page.
constexpr std::size_t kPageHeader = 26;
constexpr std::size_t kPageNumberAt = 8;
constexpr std::size_t kNextPageAt = 16;
constexpr std::size_t kEntriesAt = 20;
constexpr std::size_t kLengthAt = 22;  // of an overflow page's bytes
constexpr std::size_t kTypeAt = 25;
constexpr char kUnsortedHashPage = 2;
constexpr char kOverflowPage = 7;
constexpr char kHashPage = 13;
constexpr char kItemOnPage = 1;
constexpr char kItemOnOverflow = 3;
constexpr std::size_t kOverflowItem = 12;  // type, padding, page, length

constexpr std::size_t kMinPageSize = 512;
constexpr std::size_t kMaxPageSize = 64u << 10;
// Buckets and their continuations.
constexpr std::size_t kMaxHashPages = 2 * kMaxPackages;

class HashFile {
 public:
  static Result<HashFile> open(const ReadAt& file) {
    auto meta = read_exactly(file, 0, kMetaSize);
    if (!meta) {
      return tl::unexpected(meta.error());
    }
    const std::uint32_t version = little_endian32(*meta, kVersionAt);
    if (little_endian32(*meta, kMagicAt) != kHashMagic || version < kOldestVersion || version > kNewestVersion) {
      return fail(ErrorCode::Malformed, "not a Berkeley DB hash of this machine's byte order (version 8 to 10)");
    }
    if ((*meta)[kEncryptionAt] != 0) {
      return fail(ErrorCode::Unsupported, "an encrypted Berkeley DB");
    }
    HashFile hash(file);
    hash.page_size_ = little_endian32(*meta, kPageSizeAt);
    hash.last_page_ = little_endian32(*meta, kLastPageAt);
    hash.max_bucket_ = little_endian32(*meta, kMaxBucketAt);
    const std::size_t size = hash.page_size_;
    if (size < kMinPageSize || size > kMaxPageSize || (size & (size - 1)) != 0 || hash.max_bucket_ >= kMaxPackages) {
      return fail(ErrorCode::Malformed, "a Berkeley DB with pages of " + std::to_string(size) + " bytes and " +
                                            std::to_string(hash.max_bucket_) + " buckets");
    }
    for (std::size_t i = 0; i < kSpares; ++i) {
      hash.spares_[i] = little_endian32(*meta, kSparesAt + i * sizeof(std::uint32_t));
    }
    return hash;
  }

  Result<std::vector<RpmPackage>> packages(PackageFilter wanted) const {
    std::vector<RpmPackage> found;
    std::size_t pages = 0;
    for (std::uint32_t bucket = 0; bucket <= max_bucket_; ++bucket) {
      for (std::uint32_t number = page_of_bucket(bucket); number != 0;) {
        if (++pages > kMaxHashPages) {
          return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxHashPages) + " pages of packages");
        }
        const auto page = read_page(number);
        if (!page) {
          return tl::unexpected(page.error());
        }
        if (const auto read = read_pairs(*page, wanted, found); !read) {
          return tl::unexpected(read.error());
        }
        number = little_endian32(*page, kNextPageAt);
      }
    }
    return found;
  }

 private:
  explicit HashFile(const ReadAt& file) : file_(&file) {}

  std::uint32_t page_of_bucket(std::uint32_t bucket) const {
    std::size_t doublings = 0;
    for (std::uint32_t rest = bucket; rest != 0; rest >>= 1) {
      ++doublings;
    }
    return bucket + spares_.at(std::min(doublings, kSpares - 1));
  }

  Result<std::string> read_page(std::uint32_t number) const {
    if (number == 0 || number > last_page_) {
      return fail(ErrorCode::Malformed, "a link to page " + std::to_string(number) + ", which is not there");
    }
    auto page = read_exactly(*file_, std::uint64_t{number} * page_size_, page_size_);
    if (page && little_endian32(*page, kPageNumberAt) != number) {
      return fail(ErrorCode::Malformed, "page " + std::to_string(number) + " is not itself");
    }
    return page;
  }

  // Keys and values take turns, from the end of the page backwards: an item ends where the one before it begins.
  Result<void> read_pairs(std::string_view page, PackageFilter wanted, std::vector<RpmPackage>& found) const {
    const char type = page[kTypeAt];
    if (type != kHashPage && type != kUnsortedHashPage) {
      return fail(ErrorCode::Malformed, "a bucket leads to a page of another kind");
    }
    const std::size_t entries = little_endian(page, kEntriesAt, 2);
    std::size_t end = page_size_;
    std::string_view key;
    for (std::size_t i = 0; i < entries; ++i) {
      const std::size_t at = kPageHeader + 2 * i;
      const std::size_t begin = little_endian(page, at, 2);
      if (at + 2 > page_size_ || begin < kPageHeader || begin >= end) {
        return fail(ErrorCode::Malformed, "a page of packages is damaged");
      }
      const std::string_view item = page.substr(begin, end - begin);
      end = begin;
      if (i % 2 == 0) {
        key = item;
        continue;
      }
      if (const auto read = read_value(key, item, wanted, found); !read) {
        return read;
      }
    }
    return {};
  }

  Result<void> read_value(std::string_view key, std::string_view item, PackageFilter wanted,
                          std::vector<RpmPackage>& found) const {
    // Package 0 is none: rpm counts there.
    if (key.size() != 1 + sizeof(std::uint32_t) || little_endian32(key, 1) == 0) {
      return {};
    }
    if (item.front() == kItemOnPage) {
      const auto prefix = [item](std::size_t size) { return Result<std::string>(item.substr(1, size)); };
      return add_if_wanted(prefix, wanted, found);
    }
    if (item.front() != kItemOnOverflow || item.size() != kOverflowItem) {
      return fail(ErrorCode::Malformed, "a package is stored in no known way");
    }
    const std::uint32_t page = little_endian32(item, 4);
    const std::size_t length = little_endian32(item, 8);
    const auto prefix = [this, page, length](std::size_t size) { return overflow(page, std::min(size, length)); };
    return add_if_wanted(prefix, wanted, found);
  }

  Result<std::string> overflow(std::uint32_t number, std::size_t size) const {
    std::string bytes;
    while (bytes.size() < size && number != 0) {
      const auto page = read_page(number);
      if (!page) {
        return page;
      }
      const std::size_t length = little_endian(*page, kLengthAt, 2);
      if ((*page)[kTypeAt] != kOverflowPage || length == 0 || kPageHeader + length > page_size_) {
        return fail(ErrorCode::Malformed, "page " + std::to_string(number) + " of a package is damaged");
      }
      bytes.append(*page, kPageHeader, std::min(length, size - bytes.size()));
      number = little_endian32(*page, kNextPageAt);
    }
    return bytes;
  }

  const ReadAt* file_;
  std::size_t page_size_ = 0;
  std::uint32_t last_page_ = 0;
  std::uint32_t max_bucket_ = 0;
  std::array<std::uint32_t, kSpares> spares_{};
};

}  // namespace

Result<std::vector<RpmPackage>> read_rpm_bdb(const ReadAt& file, PackageFilter wanted) {
  const auto hash = HashFile::open(file);
  return hash ? hash->packages(wanted) : tl::unexpected(hash.error());
}

}  // namespace gpuskew
