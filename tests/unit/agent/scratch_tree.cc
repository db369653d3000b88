#include "tests/unit/agent/scratch_tree.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuskew {

ScratchTree::ScratchTree() {
  std::string name = (std::filesystem::temp_directory_path() / "gpuskew-tree-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
}

ScratchTree::~ScratchTree() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

HostRoot ScratchTree::root() const {
  return root_at(path_);
}

std::filesystem::path ScratchTree::prepared(std::string_view file) const {
  std::filesystem::path full = path_ / std::filesystem::path(file).relative_path();
  std::filesystem::create_directories(full.parent_path());
  return full;
}

void ScratchTree::write(std::string_view file, std::string_view content) const {
  std::ofstream stream(prepared(file), std::ios::binary | std::ios::trunc);
  stream << content;
  stream.close();
  if (!stream) {
    throw std::runtime_error("can not write " + std::string(file));
  }
}

void ScratchTree::link(std::string_view from, std::string_view target) const {
  std::filesystem::create_symlink(target, prepared(from));
}

void ScratchTree::directory(std::string_view path) const {
  std::filesystem::create_directories(prepared(path));
}

void ScratchTree::fifo(std::string_view path) const {
  if (::mkfifo(prepared(path).c_str(), 0600) != 0) {
    throw std::system_error(errno, std::generic_category(), std::string(path));
  }
}

void ScratchTree::broken(std::string_view path) const {
  link(path, std::filesystem::path(path).filename().string());
}

void ScratchTree::remove(std::string_view path) const {
  std::filesystem::remove_all(path_ / std::filesystem::path(path).relative_path());
}

void ScratchTree::pci(std::string_view address, std::string_view vendor, std::string_view device,
                      std::string_view device_class, std::string_view driver) const {
  const std::string directory = "/sys/bus/pci/devices/" + std::string(address);
  write(directory + "/vendor", std::string(vendor) + "\n");
  write(directory + "/device", std::string(device) + "\n");
  write(directory + "/class", std::string(device_class) + "\n");
  if (!driver.empty()) {
    link(directory + "/driver", "../../../../bus/pci/drivers/" + std::string(driver));
  }
}

HostRoot root_at(const std::filesystem::path& path) {
  auto root = HostRoot::open(path);
  if (!root) {
    throw std::runtime_error(root.error().what);
  }
  return std::move(*root);
}

HostRoot host_fixture(std::string_view scenario) {
  return root_at(std::filesystem::path(GPUSKEW_FIXTURES) / "hosts" / scenario / "root");
}

std::string elf_module(const std::string& modinfo) {
  const std::string names("\0.modinfo\0.shstrtab\0", 20);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof(header) + modinfo.size() + names.size();
  std::array<Elf64_Shdr, 3> sections{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof(header);
  sections[1].sh_size = modinfo.size();
  sections[2].sh_name = 10;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sizeof(header) + modinfo.size();
  sections[2].sh_size = names.size();
  std::string bytes(sizeof(header), '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes += modinfo + names;
  std::string table(sizeof(sections), '\0');
  std::memcpy(table.data(), sections.data(), sizeof(sections));
  return bytes + table;
}

std::string modinfo_with_version(std::string_view version) {
  std::string text;
  for (const std::string& entry : {std::string("alias=char-major-195-*"), "version=" + std::string(version),
                                   std::string("license=NVIDIA"), std::string("srcversion=B5E4DD0C7A2D16F5A8F4D0E"),
                                   std::string("vermagic=5.15.0-119-generic SMP mod_unload modversions ")}) {
    text += entry + '\0';
  }
  return text;
}

}  // namespace gpuskew
