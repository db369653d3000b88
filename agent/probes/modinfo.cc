#include "agent/probes/modinfo.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace gpuskew {
namespace {

// nvidia.ko has under a hundred sections, a .modinfo of about 20 KB and section names of about 2 KB.
constexpr std::size_t kMaxSections = 4096;
constexpr std::size_t kMaxSectionNames = 256u << 10;
constexpr std::size_t kMaxModinfo = 256u << 10;

constexpr std::string_view kVersionKey = "version=";
// "12345.12345.12345" and the NUL behind it.
constexpr std::size_t kMaxVersionValue = 18;
constexpr std::size_t kTail = 1 + kVersionKey.size() + kMaxVersionValue;

template <class T>
T copy_of(const std::string& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Result<std::string> read_exactly(const ReadAt& read_at, std::uint64_t offset, std::size_t size, const char* what) {
  auto bytes = read_at(offset, size);
  if (bytes && bytes->size() != size) {
    return fail(ErrorCode::Malformed, std::string("cut off inside its ") + what);
  }
  return bytes;
}

Result<Elf64_Ehdr> read_header(const ReadAt& read_at) {
  auto bytes = read_exactly(read_at, 0, sizeof(Elf64_Ehdr), "ELF header");
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  const auto header = copy_of<Elf64_Ehdr>(*bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return fail(ErrorCode::Malformed, "not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorCode::Malformed, "not a 64-bit little-endian ELF file");
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 || header.e_shstrndx >= header.e_shnum) {
    return fail(ErrorCode::Malformed, "no usable ELF section headers");
  }
  if (header.e_shnum > kMaxSections) {
    return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxSections) + " ELF sections");
  }
  return header;
}

}  // namespace

Result<std::string> find_modinfo(const ReadAt& read_at) {
  auto header = read_header(read_at);
  if (!header) {
    return tl::unexpected(header.error());
  }
  const std::size_t count = header->e_shnum;
  auto table = read_exactly(read_at, header->e_shoff, count * sizeof(Elf64_Shdr), "section headers");
  if (!table) {
    return table;
  }
  const auto section = [&table](std::size_t index) { return copy_of<Elf64_Shdr>(*table, index * sizeof(Elf64_Shdr)); };
  const auto names_at = section(header->e_shstrndx);
  if (names_at.sh_size > kMaxSectionNames) {
    return fail(ErrorCode::TooLarge, "section names of more than " + std::to_string(kMaxSectionNames) + " bytes");
  }
  auto names = read_exactly(read_at, names_at.sh_offset, names_at.sh_size, "section names");
  if (!names) {
    return names;
  }
  for (std::size_t index = 0; index < count; ++index) {
    const auto candidate = section(index);
    // c_str() of the whole names ends every name that lacks its NUL.
    if (candidate.sh_name >= names->size() || std::strcmp(names->c_str() + candidate.sh_name, ".modinfo") != 0) {
      continue;
    }
    if (candidate.sh_size > kMaxModinfo) {
      return fail(ErrorCode::TooLarge, "a .modinfo section of more than " + std::to_string(kMaxModinfo) + " bytes");
    }
    return read_exactly(read_at, candidate.sh_offset, candidate.sh_size, ".modinfo section");
  }
  return fail(ErrorCode::Malformed, "no .modinfo section");
}

std::optional<std::string_view> modinfo_value(std::string_view modinfo, std::string_view key) {
  while (!modinfo.empty()) {
    const std::size_t end = std::min(modinfo.find('\0'), modinfo.size());
    const std::string_view entry = modinfo.substr(0, end);
    if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=') {
      return entry.substr(key.size() + 1);
    }
    modinfo.remove_prefix(std::min(end + 1, modinfo.size()));
  }
  return std::nullopt;
}

void ModinfoScanner::feed(std::string_view block) {
  // Cut entries are found whole once the next block has come: whatever began in the last kTail bytes is kept.
  tail_.append(block);
  const char* at = tail_.data();
  const char* const end = at + tail_.size();
  for (;;) {
    const auto left = static_cast<std::size_t>(end - at);
    const auto* key = static_cast<const char*>(memmem(at, left, kVersionKey.data(), kVersionKey.size()));
    if (key == nullptr) {
      break;
    }
    at = key + kVersionKey.size();
    const std::string_view rest(at, std::min(static_cast<std::size_t>(end - at), kMaxVersionValue));
    const std::size_t length = rest.find('\0');
    // Only a whole entry counts: a NUL before the key ("srcversion=" is another key) and one behind the value.
    if (key == tail_.data() || key[-1] != '\0' || length == std::string_view::npos) {
      continue;
    }
    auto version = DriverVersion::parse(rest.substr(0, length));
    if (version && !version_) {
      version_ = std::move(*version);
    } else if (version && *version != *version_) {
      other_ = std::move(*version);
    }
  }
  tail_.erase(0, tail_.size() - std::min(tail_.size(), kTail));
}

Result<DriverVersion> ModinfoScanner::finish() const {
  if (!version_) {
    return fail(ErrorCode::Malformed, "no version entry with a driver version");
  }
  if (other_) {
    return fail(ErrorCode::Malformed, "two version entries, " + version_->text() + " and " + other_->text());
  }
  return *version_;
}

}  // namespace gpuskew
