#include "agent/probes/kernel.h"

#include <elf.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kRelease = "/proc/sys/kernel/osrelease";
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kStat = "/proc/stat";
constexpr const char* kArchitecture = "/proc/sys/kernel/arch";
constexpr std::array kInitPrograms = {"/sbin/init", "/usr/lib/systemd/systemd", "/bin/sh", "/usr/bin/sh"};

// The interrupt line grows with cores and devices: some 100 KB on the largest machines.
constexpr std::size_t kMaxStat = 4u << 20;
constexpr std::array kKnownArchitectures = {"x86_64", "aarch64", "ppc64le"};

bool is_uuid(std::string_view text) {
  if (text.size() != 36) {
    return false;
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
    if (dash ? text[at] != '-' : std::strchr("0123456789abcdef", text[at]) == nullptr || text[at] == '\0') {
      return false;
    }
  }
  return true;
}

Result<Time> boot_time_in(std::string_view stat) {
  constexpr std::string_view kKey = "btime ";
  std::size_t at = stat.starts_with(kKey) ? 0 : stat.find("\nbtime ");
  if (at == std::string_view::npos) {
    return fail(ErrorCode::Malformed, std::string("reading ") + kStat + ": no btime line");
  }
  at += kKey.size() + (at == 0 ? 0 : 1);
  const std::string_view digits = stat.substr(at, stat.find('\n', at) - at);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  constexpr std::int64_t kLatest = 253'402'300'799;  // 9999-12-31
  if (error != std::errc() || end != digits.data() + digits.size() || seconds <= 0 || seconds > kLatest) {
    return fail(ErrorCode::Malformed, std::string("reading ") + kStat + ": btime is no time");
  }
  return Time(std::chrono::seconds(seconds));
}

// RHEL's "5.14.0-427.el9_4.aarch64+64k" names its architecture behind a dot, perhaps with a variant behind it.
const char* architecture_in(const KernelRelease& kernel) {
  for (const char* name : kKnownArchitectures) {
    const std::string suffix = std::string(".") + name;
    const std::string& text = kernel.text();
    const std::size_t at = text.rfind(suffix);
    if (at != std::string::npos) {
      const std::size_t end = at + suffix.size();
      if (end == text.size() || text[end] == '+' || text[end] == '_' || text[end] == '.') {
        return name;
      }
    }
  }
  return nullptr;
}

Result<std::string> architecture_of_program(const HostRoot& root, const char* path) {
  auto program = root.open_file(path);
  if (!program) {
    return tl::unexpected(program.error());
  }
  auto bytes = program->read_at(0, sizeof(Elf64_Ehdr));
  if (!bytes) {
    return bytes;
  }
  Elf64_Ehdr header{};
  if (bytes->size() < sizeof(header)) {
    return fail(ErrorCode::Malformed, std::string("reading ") + path + ": not a program");
  }
  std::memcpy(&header, bytes->data(), sizeof(header));
  const bool elf64 = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                     header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (elf64 && header.e_machine == EM_X86_64) {
    return "x86_64";
  }
  if (elf64 && header.e_machine == EM_AARCH64) {
    return "aarch64";
  }
  if (elf64 && header.e_machine == EM_PPC64) {
    return "ppc64le";
  }
  return fail(ErrorCode::Malformed, std::string("reading ") + path + ": not a 64-bit program of a known architecture");
}

}  // namespace

Fact<KernelRelease> read_kernel_release(const HostRoot& root) {
  const auto text = root.read_line(kRelease);
  if (!text) {
    return Fact<KernelRelease>::unknown(text.error(), kRelease);
  }
  auto release = KernelRelease::parse(*text);
  if (!release) {
    return Fact<KernelRelease>::unknown({release.error().code, std::string(kRelease) + ": " + release.error().what},
                                        kRelease);
  }
  return Fact<KernelRelease>::known(std::move(*release), kRelease);
}

Fact<std::string> read_boot_id(const HostRoot& root) {
  const auto text = root.read_line(kBootId);
  if (!text) {
    return Fact<std::string>::unknown(text.error(), kBootId);
  }
  if (!is_uuid(*text)) {
    return Fact<std::string>::unknown({ErrorCode::Malformed, std::string("reading ") + kBootId + ": not a UUID"},
                                      kBootId);
  }
  return Fact<std::string>::known(*text, kBootId);
}

Fact<Time> read_boot_time(const HostRoot& root) {
  const auto text = root.read(kStat, kMaxStat);
  if (!text) {
    return Fact<Time>::unknown(text.error(), kStat);
  }
  const auto time = boot_time_in(*text);
  return time ? Fact<Time>::known(*time, kStat) : Fact<Time>::unknown(time.error(), kStat);
}

Fact<std::string> read_architecture(const HostRoot& root, const Fact<KernelRelease>& kernel) {
  const auto text = root.read_line(kArchitecture);
  if (text) {
    for (const char* name : kKnownArchitectures) {
      if (*text == name) {
        return Fact<std::string>::known(name, kArchitecture);
      }
    }
    return Fact<std::string>::unknown(
        {ErrorCode::Malformed, std::string("reading ") + kArchitecture + ": not an architecture with NVIDIA drivers"},
        kArchitecture);
  }
  if (text.error().code != ErrorCode::NotFound) {
    return Fact<std::string>::unknown(text.error(), kArchitecture);
  }
  if (kernel.is_known()) {
    if (const char* name = architecture_in(*kernel)) {
      return Fact<std::string>::known(name, kernel.source());
    }
  }
  Error why{ErrorCode::NotFound, "no program to tell it by"};
  for (const char* path : kInitPrograms) {
    auto name = architecture_of_program(root, path);
    if (name) {
      return Fact<std::string>::known(std::move(*name), path);
    }
    if (name.error().code != ErrorCode::NotFound) {
      why = name.error();
    }
  }
  return Fact<std::string>::unknown(std::move(why), kArchitecture);
}

}  // namespace gpuskew
