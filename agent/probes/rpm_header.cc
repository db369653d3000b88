#include "agent/probes/rpm_header.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/probes/byte_order.h"

namespace gpuskew {
namespace {

// Index and first strings of nearly every package.
constexpr std::size_t kFirstRead = 4096;
constexpr std::size_t kPreamble = 8;  // two counts: index entries, bytes of data
constexpr std::size_t kEntry = 16;    // tag, type, offset, count
constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxText = 256;

constexpr std::uint32_t kNameTag = 1000;
constexpr std::uint32_t kVersionTag = 1001;
constexpr std::uint32_t kReleaseTag = 1002;
constexpr std::uint32_t kInstallTimeTag = 1008;
constexpr std::uint32_t kInt32Type = 4;
constexpr std::uint32_t kStringType = 6;

class Header {
 public:
  static Result<Header> open(const HeaderPrefix& source) {
    Header header(source);
    if (auto read = header.need(kPreamble); !read) {
      return tl::unexpected(read.error());
    }
    header.entries_ = big_endian32(header.bytes_, 0);
    header.data_size_ = big_endian32(header.bytes_, sizeof(std::uint32_t));
    if (header.entries_ == 0 || header.entries_ > kMaxEntries) {
      return fail(ErrorCode::Malformed, "a package header of " + std::to_string(header.entries_) + " entries");
    }
    header.data_ = kPreamble + header.entries_ * kEntry;
    if (auto read = header.need(header.data_); !read) {
      return tl::unexpected(read.error());
    }
    return header;
  }

  /// Malformed when the tag is missing or no text.
  Result<std::string> text(std::uint32_t tag) {
    const auto offset = offset_of(tag, kStringType);
    if (!offset) {
      return fail(ErrorCode::Malformed, "a package header without its tag " + std::to_string(tag));
    }
    const std::size_t from = data_ + *offset;
    const std::size_t most = std::min(data_ + data_size_, from + kMaxText);
    if (auto read = need(most); !read) {
      return tl::unexpected(read.error());
    }
    const std::string_view rest = std::string_view(bytes_).substr(from, most - from);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos || end == 0) {
      return fail(ErrorCode::Malformed, "a package header's tag " + std::to_string(tag) + " is no text");
    }
    return std::string(rest.substr(0, end));
  }

  std::optional<std::uint32_t> number(std::uint32_t tag) {
    const auto offset = offset_of(tag, kInt32Type);
    if (!offset || *offset + sizeof(std::uint32_t) > data_size_ || !need(data_ + *offset + sizeof(std::uint32_t))) {
      return std::nullopt;
    }
    return big_endian32(bytes_, data_ + *offset);
  }

 private:
  explicit Header(const HeaderPrefix& source) : source_(&source) {}

  Result<void> need(std::size_t size) {
    if (bytes_.size() >= size) {
      return {};
    }
    if (size > kMaxHeaderPrefix) {
      return fail(ErrorCode::TooLarge,
                  "a package header's name is beyond its first " + std::to_string(kMaxHeaderPrefix) + " bytes");
    }
    auto read = (*source_)(std::max(size, kFirstRead));
    if (!read) {
      return tl::unexpected(read.error());
    }
    if (read->size() < size) {
      return fail(ErrorCode::Malformed, "a package header is cut off");
    }
    bytes_ = std::move(*read);
    return {};
  }

  std::optional<std::size_t> offset_of(std::uint32_t tag, std::uint32_t type) const {
    for (std::size_t i = 0; i < entries_; ++i) {
      const std::size_t at = kPreamble + i * kEntry;
      if (big_endian32(bytes_, at) == tag && big_endian32(bytes_, at + 4) == type) {
        const std::size_t offset = big_endian32(bytes_, at + 8);
        return offset < data_size_ ? std::optional(offset) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  const HeaderPrefix* source_;
  std::string bytes_;
  std::size_t entries_ = 0;
  std::size_t data_ = 0;
  std::size_t data_size_ = 0;
};

}  // namespace

Result<std::string> rpm_package_name(const HeaderPrefix& header) {
  auto opened = Header::open(header);
  return opened ? opened->text(kNameTag) : tl::unexpected(opened.error());
}

Result<RpmPackage> rpm_package(const HeaderPrefix& header) {
  auto opened = Header::open(header);
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  RpmPackage package;
  std::string release;
  for (auto [tag, text] : {std::pair(kNameTag, &package.name), std::pair(kVersionTag, &package.version),
                           std::pair(kReleaseTag, &release)}) {
    auto read = opened->text(tag);
    if (!read) {
      return tl::unexpected(read.error());
    }
    *text = std::move(*read);
  }
  package.version += "-" + release;
  if (const auto seconds = opened->number(kInstallTimeTag)) {
    package.installed_at = Time(std::chrono::seconds(*seconds));
  }
  return package;
}

Result<void> add_if_wanted(const HeaderPrefix& header, PackageFilter wanted, std::vector<RpmPackage>& packages) {
  const auto name = rpm_package_name(header);
  if (!name) {
    return tl::unexpected(name.error());
  }
  if (!wanted(*name)) {
    return {};
  }
  if (packages.size() == kMaxWantedPackages) {
    return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxWantedPackages) + " packages of the driver");
  }
  auto package = rpm_package(header);
  if (!package) {
    return tl::unexpected(package.error());
  }
  packages.push_back(std::move(*package));
  return {};
}

}  // namespace gpuskew
