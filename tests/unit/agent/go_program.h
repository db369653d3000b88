#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>

namespace gpuskew {

/// The start of a Go program as Go 1.18 and newer make it: an ELF file with a .go.buildinfo section.
inline std::string go_program(std::string_view modules, unsigned char flags = 2) {
  const auto varint = [](std::size_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7U) {
      bytes += static_cast<char>((value & 0x7fU) | 0x80U);
    }
    return bytes + static_cast<char>(value);
  };
  const std::string compiler = "go1.23.4";
  const std::string sentinel(16, '0');
  const std::string info = sentinel + std::string(modules) + sentinel;
  std::string section = "\xff Go buildinf:";
  section += '\x08';
  section += static_cast<char>(flags);
  section.resize(32, '\0');
  section += varint(compiler.size()) + compiler + varint(info.size()) + info;

  const std::string names = std::string("\0.go.buildinfo\0.shstrtab\0", 25);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof(header);
  Elf64_Shdr info_header{};
  info_header.sh_name = 1;
  info_header.sh_offset = sizeof(header) + 3 * sizeof(Elf64_Shdr);
  info_header.sh_size = section.size();
  Elf64_Shdr names_header{};
  names_header.sh_name = 15;
  names_header.sh_offset = info_header.sh_offset + section.size();
  names_header.sh_size = names.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(sizeof(Elf64_Shdr), '\0');
  bytes.append(reinterpret_cast<const char*>(&info_header), sizeof(info_header));
  bytes.append(reinterpret_cast<const char*>(&names_header), sizeof(names_header));
  return bytes + section + names;
}

}  // namespace gpuskew
