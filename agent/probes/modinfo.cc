#include "agent/probes/modinfo.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpuskew {
namespace {

// nvidia.ko has under a hundred sections, a .modinfo of about 20 KB and section names of about 2 KB.
constexpr std::size_t kMaxSections = 4096;
constexpr std::size_t kMaxSectionNames = 256u << 10;
constexpr std::size_t kMaxModinfo = 256u << 10;

constexpr std::string_view kVersionKey = "version";
constexpr std::string_view kVersionMagicKey = "vermagic";
constexpr std::string_view kLicenseKey = "license";
constexpr std::array<std::string_view, 3> kKeys = {kVersionKey, kVersionMagicKey, kLicenseKey};
// A kernel release of 64 characters and the build options behind it: "SMP preempt mod_unload modversions aarch64".
constexpr std::size_t kMaxValue = 256;
constexpr std::size_t kLongestKey = 8;
constexpr std::size_t kTail = 1 + kLongestKey + 1 + kMaxValue;

Result<KernelRelease> kernel_of_magic(std::string_view magic) {
  return KernelRelease::parse(magic.substr(0, magic.find(' ')));
}

Result<ModuleFlavour> flavour_of_license(std::string_view license) {
  if (license == "NVIDIA") {
    return ModuleFlavour::Proprietary;
  }
  if (license == "Dual MIT/GPL") {
    return ModuleFlavour::Open;
  }
  return fail(ErrorCode::Malformed,
              "its license " + in_quotes(license) + " is neither the proprietary module's nor " + "the open one's");
}

tl::unexpected<Error> no_entry(std::string_view key) {
  return fail(ErrorCode::Malformed, "no " + std::string(key) + " entry");
}

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

Result<std::string> find_elf_section(const ReadAt& read_at, std::string_view name, std::size_t limit) {
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
    if (candidate.sh_name >= names->size() || names->c_str() + candidate.sh_name != name) {
      continue;
    }
    const std::string section_name(name);
    if (candidate.sh_size > limit) {
      return fail(ErrorCode::TooLarge,
                  "a " + section_name + " section of more than " + std::to_string(limit) + " bytes");
    }
    return read_exactly(read_at, candidate.sh_offset, candidate.sh_size, (section_name + " section").c_str());
  }
  return fail(ErrorCode::Malformed, "no " + std::string(name) + " section");
}

Result<std::string> find_modinfo(const ReadAt& read_at) {
  return find_elf_section(read_at, ".modinfo", kMaxModinfo);
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

ModuleIdentity ModuleIdentity::unknown(const Error& why) {
  return ModuleIdentity{tl::unexpected(why), tl::unexpected(why), tl::unexpected(why)};
}

ModuleIdentity module_identity(std::string_view modinfo) {
  const auto version = modinfo_value(modinfo, kVersionKey);
  const auto magic = modinfo_value(modinfo, kVersionMagicKey);
  const auto license = modinfo_value(modinfo, kLicenseKey);
  return ModuleIdentity{version ? DriverVersion::parse(*version) : no_entry(kVersionKey),
                        magic ? kernel_of_magic(*magic) : no_entry(kVersionMagicKey),
                        license ? flavour_of_license(*license) : no_entry(kLicenseKey)};
}

void ModinfoScanner::feed(std::string_view block) {
  // Cut entries are found whole once the next block has come: whatever began in the last kTail bytes is kept.
  tail_.append(block);
  for (const std::string_view key : kKeys) {
    const std::string pattern = std::string(key) + "=";
    const char* at = tail_.data();
    const char* const end = at + tail_.size();
    for (;;) {
      at = static_cast<const char*>(memmem(at, static_cast<std::size_t>(end - at), pattern.data(), pattern.size()));
      if (at == nullptr) {
        break;
      }
      const char* const begin = at;
      at += pattern.size();
      const std::string_view rest(at, std::min(static_cast<std::size_t>(end - at), kMaxValue));
      const std::size_t length = rest.find('\0');
      // Only a whole entry counts: a NUL before the key ("srcversion=" is another key) and one behind the value.
      if (begin != tail_.data() && begin[-1] == '\0' && length != std::string_view::npos) {
        take(key, rest.substr(0, length));
      }
    }
  }
  tail_.erase(0, tail_.size() - std::min(tail_.size(), kTail));
}

void ModinfoScanner::take(std::string_view key, std::string_view value) {
  const auto note = [](auto& found, auto parsed) {
    if (!parsed) {
      return;  // some other text that looks like an entry
    }
    if (!found.first) {
      found.first = std::move(*parsed);
    } else if (!(*found.first == *parsed)) {
      found.other = std::move(*parsed);
    }
  };
  if (key == kVersionKey) {
    note(version_, DriverVersion::parse(value));
  } else if (key == kVersionMagicKey) {
    note(built_for_, kernel_of_magic(value));
  } else {
    note(flavour_, flavour_of_license(value));
  }
}

ModuleIdentity ModinfoScanner::finish() const {
  const auto only = [](const auto& found, const char* missing, const char* several, const auto& text) {
    using Value = typename std::decay_t<decltype(found.first)>::value_type;
    if (!found.first) {
      return Result<Value>(fail(ErrorCode::Malformed, missing));
    }
    if (found.other) {
      return Result<Value>(
          fail(ErrorCode::Malformed, std::string(several) + ", " + text(*found.first) + " and " + text(*found.other)));
    }
    return Result<Value>(*found.first);
  };
  const auto text = [](const auto& value) { return value.text(); };
  const auto name = [](ModuleFlavour flavour) { return std::string(to_string(flavour)); };
  return ModuleIdentity{only(version_, "no version entry with a driver version", "two version entries", text),
                        only(built_for_, "no vermagic entry with a kernel release", "two vermagic entries", text),
                        only(flavour_, "no license entry of an nvidia module", "two license entries", name)};
}

}  // namespace gpuskew
