#include "agent/probes/kernel_image.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "agent/paths.h"

namespace gpuskew {
namespace {

constexpr std::array<std::string_view, 6> kImagePrefixes = {"vmlinuz-", "vmlinux-", "bzImage-",
                                                            "kernel-",  "Image-",   "linux-"};
constexpr std::size_t kMaxReleaseText = 256;

template <class T>
T number_at(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  }
  return value;
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, std::min(text.find_first_of(std::string_view(" \n\0", 3)), text.size()));
}

Result<KernelRelease> release_by_name(const HostRoot& root, const std::string& path) {
  const auto end = root.resolve(path);
  if (!end) {
    return tl::unexpected(end.error());
  }
  const std::string_view name = std::string_view(*end).substr(end->rfind('/') + 1);
  // Fedora, Arch: lib/modules/<release>/vmlinuz; kernel-install: <machine id>/<release>/linux.
  std::string_view release;
  if (name == "vmlinuz" || name == "linux") {
    const std::string_view folder = std::string_view(*end).substr(0, end->size() - name.size() - 1);
    release = folder.substr(folder.rfind('/') + 1);
  }
  for (const std::string_view prefix : kImagePrefixes) {
    if (name.starts_with(prefix)) {
      release = name.substr(prefix.size());
    }
  }
  const auto parsed = KernelRelease::parse(release);
  if (parsed && parsed->text() != "." && parsed->text() != "..") {
    const auto tree = root.status(std::string(kModuleTrees) + "/" + parsed->text());
    if (tree && tree->kind == FileKind::Directory) {
      return parsed;
    }
  }
  return fail(ErrorCode::NotFound, path + " does not say which of the installed kernels it is");
}

struct Section {
  std::uint32_t size = 0;
  std::uint32_t offset = 0;
};

// The PE format's section table: 40 bytes each, name, sizes and places.
class Sections {
 public:
  static Result<Sections> read(const HostFile& file) {
    constexpr std::size_t kHeader = 4096;
    constexpr std::size_t kPeOffsetAt = 0x3c;
    constexpr std::size_t kCoffHeader = 24;
    constexpr std::size_t kMaxSections = 96;
    auto header = file.read_at(0, kHeader);
    if (!header) {
      return tl::unexpected(header.error());
    }
    const std::size_t pe = number_at<std::uint32_t>(*header, kPeOffsetAt);
    const std::string_view signature = std::string_view(*header).substr(std::min(pe, header->size()));
    if (!header->starts_with("MZ") || pe > kHeader - kCoffHeader ||
        !signature.starts_with(std::string_view("PE\0\0", 4))) {
      return fail(ErrorCode::Malformed, file.name() + " is no unified kernel image");
    }
    Sections sections;
    sections.count_ = number_at<std::uint16_t>(*header, pe + 6);
    sections.table_at_ = pe + kCoffHeader + number_at<std::uint16_t>(*header, pe + 20);
    sections.header_ = std::move(*header);
    if (sections.count_ > kMaxSections || sections.table_at_ + sections.count_ * kEntry > sections.header_.size()) {
      return fail(ErrorCode::TooLarge,
                  file.name() + " has a header of more than " + std::to_string(kHeader) + " bytes");
    }
    return sections;
  }

  std::optional<Section> find(std::string_view name) const {
    constexpr std::size_t kName = 8;
    for (std::size_t index = 0; index < count_; ++index) {
      const std::size_t at = table_at_ + index * kEntry;
      const std::string_view raw = std::string_view(header_).substr(at, kName);
      if (raw.substr(0, raw.find('\0')) == name) {
        const auto in_memory = number_at<std::uint32_t>(header_, at + 8);
        const auto in_file = number_at<std::uint32_t>(header_, at + 16);
        return Section{std::min(in_memory, in_file), number_at<std::uint32_t>(header_, at + 20)};
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kEntry = 40;
  std::string header_;
  std::size_t count_ = 0;
  std::size_t table_at_ = 0;
};

}  // namespace

bool is_image_name(std::string_view file_name) {
  if (file_name.find("rescue") != std::string_view::npos) {
    return false;
  }
  // "vmlinuz" and "vmlinuz.old" are links to the others.
  return std::any_of(kImagePrefixes.begin(), kImagePrefixes.end(),
                     [file_name](std::string_view prefix) { return file_name.starts_with(prefix); });
}

Result<KernelRelease> read_bzimage_release(const HostFile& file, std::uint64_t offset) {
  // The boot protocol's setup header: "HdrS" at 0x202, at 0x20e where its version text is, counted from 0x200.
  constexpr std::uint64_t kMagicAt = 0x202;
  constexpr std::uint64_t kTextFrom = 0x200;
  constexpr std::size_t kPointerAt = 0x20e - 0x202;
  const auto header = file.read_at(offset + kMagicAt, kPointerAt + 2);
  if (!header) {
    return tl::unexpected(header.error());
  }
  const auto text_at = number_at<std::uint16_t>(*header, kPointerAt);
  if (!header->starts_with("HdrS") || text_at == 0) {
    return fail(ErrorCode::NotFound, file.name() + " has no header of a bzImage");
  }
  const auto text = file.read_at(offset + kTextFrom + text_at, kMaxReleaseText);
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto release = KernelRelease::parse(first_word(*text));
  return release ? release : fail("reading " + file.name(), release.error());
}

Result<KernelRelease> read_image_release(const HostRoot& root, const std::string& path) {
  const auto file = root.open_file(path);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto status = file->status();
  if (status && status->size == 0) {
    return fail(ErrorCode::Malformed, path + " is empty");
  }
  auto release = read_bzimage_release(*file, 0);
  if (release || release.error().code != ErrorCode::NotFound) {
    return release;
  }
  return release_by_name(root, path);
}

Result<UnifiedImage> read_unified_image(const HostFile& file) {
  constexpr std::size_t kMaxOsRelease = 8192;
  const auto sections = Sections::read(file);
  if (!sections) {
    return tl::unexpected(sections.error());
  }
  const auto linux_section = sections->find(".linux");
  if (!linux_section) {
    return fail(ErrorCode::Malformed, file.name() + " is no unified kernel image: it has no .linux section");
  }
  Result<KernelRelease> release = fail(ErrorCode::NotFound, file.name() + " does not say which kernel it is");
  if (const auto uname = sections->find(".uname")) {
    const auto text = file.read_at(uname->offset, std::min<std::size_t>(uname->size, kMaxReleaseText));
    release = text ? KernelRelease::parse(first_word(*text)) : Result<KernelRelease>(tl::unexpected(text.error()));
  } else if (auto header = read_bzimage_release(file, linux_section->offset)) {
    release = std::move(header);
  }
  if (!release) {
    return fail("reading " + file.name(), release.error());
  }
  UnifiedImage image{std::move(*release), {}};
  if (const auto os = sections->find(".osrel")) {
    const auto text = file.read_at(os->offset, std::min<std::size_t>(os->size, kMaxOsRelease));
    image.os_release = text.value_or("");
  }
  return image;
}

Result<UnifiedImage> read_unified_image(const HostRoot& root, const std::string& path) {
  const auto file = root.open_file(path);
  return file ? read_unified_image(*file) : Result<UnifiedImage>(tl::unexpected(file.error()));
}

}  // namespace gpuskew
