#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "agent/host_root.h"

namespace gpuskew {

/// A host's tree made up by a test, in a temporary directory that goes with the object. Paths are as HostRoot takes
/// them:
/// "/etc/os-release". Parents are made as needed; what can not be made fails the test by an exception.
class ScratchTree {
 public:
  ScratchTree();
  ~ScratchTree();
  ScratchTree(const ScratchTree&) = delete;
  ScratchTree& operator=(const ScratchTree&) = delete;

  const std::filesystem::path& path() const { return path_; }
  HostRoot root() const;

  void write(std::string_view file, std::string_view content) const;
  void link(std::string_view from, std::string_view target) const;
  void directory(std::string_view path) const;
  void fifo(std::string_view path) const;
  /// A path whose opening fails with an error that is neither "not there" nor a value: a link to itself.
  void broken(std::string_view path) const;
  void remove(std::string_view path) const;
  /// A PCI function as sysfs shows it; `driver` "" leaves it unbound.
  void pci(std::string_view address, std::string_view vendor, std::string_view device, std::string_view device_class,
           std::string_view driver = "") const;

 private:
  std::filesystem::path prepared(std::string_view file) const;
  std::filesystem::path path_;
};

/// Opens a directory that must be there.
HostRoot root_at(const std::filesystem::path& path);
/// tests/fixtures/hosts/<scenario>/root
HostRoot host_fixture(std::string_view scenario);

/// A tiny ELF module with these .modinfo entries ("version=550.90.07"), as bytes.
std::string elf_module(const std::string& modinfo);
/// NUL-separated, as .modinfo has them, with what a real module says beside its version.
std::string modinfo_with_version(std::string_view version);

}  // namespace gpuskew
