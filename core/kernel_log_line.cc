#include "core/kernel_log_line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/xid.h"

namespace gpuskew {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::size_t kMaxVersionBytes = 24;
constexpr std::size_t kMaxVermagicBytes = 160;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// What stands behind `before`; nullopt when `before` is not there.
std::optional<std::string_view> behind(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return text.substr(at + before.size());
}

std::uint32_t number_at(std::string_view text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The module a line is about: "nvidia" of "nvidia: Unknown symbol x" and "module nvidia: .gnu..."; "" for none.
std::string_view module_of(std::string_view line) {
  constexpr std::string_view kNoun = "module ";
  line.remove_prefix(line.starts_with(kNoun) ? kNoun.size() : 0);
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || contains(line.substr(0, colon), " ")) {
    return {};
  }
  return line.substr(0, colon);
}

/// nvidia itself, also as old packages named it: nvidia_352. Its siblings fail for reasons of their own (nvidia_peermem
/// without an RDMA stack), and the GPU works without some of them.
bool is_main_module(std::string_view module) {
  constexpr std::string_view kName = "nvidia";
  if (!module.starts_with(kName)) {
    return false;
  }
  module.remove_prefix(kName.size());
  return module.empty() ||
         (module.front() == '_' && module.size() > 1 && module.find_first_not_of(kDigits, 1) == std::string_view::npos);
}

// "NVRM: Xid (PCI:0000:98:00): 79, pid='<unknown>', ...", before 2013 "NVRM: Xid (0000:98:00): 79, ...", with MIG
// "Xid (PCI:0000:98:00 GPU-I:01): 43, ...".
std::optional<LogLine> xid_line(std::string_view text, KernelLogKind kind) {
  const std::size_t close = text.find("): ");
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view place = text.substr(0, close);
  if (place.starts_with("PCI:")) {
    place.remove_prefix(4);
  }
  LogLine line{kind, pci_address(place), number_at(text.substr(close + 3))};
  if (line.xid == 0) {
    return std::nullopt;
  }
  if (kind == KernelLogKind::Xid && line.xid == kFellOffBusXid) {
    line.kind = KernelLogKind::FellOffBus;
  }
  return line;
}

std::string gpu_named(std::string_view line) {
  const auto text = behind(line, "GPU ");
  return text ? pci_address(*text) : std::string();
}

bool says_gsp_failed(std::string_view line) {
  return contains(line, "Cannot initialize GSP firmware") || contains(line, "kgspInitRm_IMPL: cannot bootstrap") ||
         (contains(line, "_kgspBootGspRm") && contains(line, "cannot proceed")) ||
         (contains(line, "failed to wait for GFW") && (contains(line, "GFW_BOOT") || contains(line, "GFW boot")));
}

std::string loaded_version(std::string_view line) {
  auto text = behind(line, "Kernel Module");
  while (text && !text->empty()) {
    text->remove_prefix(std::min(text->size(), text->find_first_not_of(' ')));
    const std::string version = version_at(*text);
    if (!version.empty()) {
      return version;
    }
    text->remove_prefix(std::min(text->size(), text->find(' ')));
  }
  return {};
}

std::optional<LogLine> nvrm_line(std::string_view line) {
  if (const auto text = behind(line, "Xid (")) {
    return xid_line(*text, KernelLogKind::Xid);
  }
  if (contains(line, "GPU has fallen off the bus")) {
    return LogLine{KernelLogKind::FellOffBus, gpu_named(line), kFellOffBusXid};
  }
  if (contains(line, "RmInitAdapter failed!") || contains(line, "rm_init_adapter failed")) {
    return LogLine{KernelLogKind::InitFailed, gpu_named(line)};
  }
  if (says_gsp_failed(line)) {
    return LogLine{KernelLogKind::GspFailed, gpu_named(line)};
  }
  if (contains(line, "loading NVIDIA")) {
    return LogLine{KernelLogKind::DriverLoaded, "", 0, loaded_version(line)};
  }
  if (contains(line, "The NVIDIA probe routine was not called for")) {
    return LogLine{KernelLogKind::OtherDriver};
  }
  return std::nullopt;
}

// "version magic 'A' should be 'B'"
LogLine vermagic_line(std::string_view text) {
  LogLine line{KernelLogKind::VersionMagic};
  const auto quoted = [&text]() {
    const std::size_t open = std::min(text.size(), text.find('\''));
    text.remove_prefix(std::min(text.size(), open + 1));
    std::string_view inner = text.substr(0, text.find('\''));
    text.remove_prefix(std::min(text.size(), inner.size() + 1));
    inner = inner.substr(0, kMaxVermagicBytes);
    while (inner.ends_with(' ')) {
      inner.remove_suffix(1);
    }
    return std::string(inner);
  };
  line.theirs = quoted();
  line.ours = quoted();
  return line;
}

// "nvidia: probe of 0000:af:00.0 failed with error -1", since Linux 6.11 "nvidia 0000:af:00.0: probe with driver nvidia
// failed with error -1".
std::optional<LogLine> probe_line(std::string_view line) {
  if (const auto text = behind(line, "nvidia: probe of "); text && contains(*text, " failed with error")) {
    return LogLine{KernelLogKind::ProbeFailed, pci_address(*text)};
  }
  constexpr std::string_view kDevice = "nvidia ";
  if (line.starts_with(kDevice) && contains(line, ": probe with driver nvidia failed with error")) {
    return LogLine{KernelLogKind::ProbeFailed, pci_address(line.substr(kDevice.size()))};
  }
  return std::nullopt;
}

// What the kernel says of a module it does not take. Two of these name no module at all. "PKCS#7 signature not signed
// with a trusted key" is none of them: it is also said of modules that are taken all the same.
std::optional<LogLine> refusal_line(std::string_view line) {
  if (contains(line, "Loading of ") && contains(line, "module") && contains(line, " is rejected")) {
    return LogLine{KernelLogKind::KeyRejected};
  }
  if (contains(line, "Lockdown: ") && contains(line, " restricted") &&
      (contains(line, "unsigned module") || contains(line, "module with un"))) {
    return LogLine{KernelLogKind::Lockdown};
  }
  const std::string_view module = module_of(line);
  if (module.starts_with("nvidia") && contains(line, "module verification failed")) {
    const bool taken = contains(line, "tainting kernel");
    return LogLine{taken ? KernelLogKind::UnsignedTaint : KernelLogKind::KeyRejected};
  }
  if (contains(line, "insert 'nvidia'") &&
      (contains(line, "Key was rejected") || contains(line, "Required key not available"))) {
    return LogLine{KernelLogKind::KeyRejected};
  }
  if (!is_main_module(module)) {
    return std::nullopt;
  }
  if (const auto text = behind(line, "version magic ")) {
    return vermagic_line(*text);
  }
  // Linux 6.3 and later, of a module built for a kernel with other options.
  if (contains(line, ".gnu.linkonce.this_module section size must match")) {
    return LogLine{KernelLogKind::VersionMagic};
  }
  if (contains(line, "Unknown symbol ") || contains(line, "disagrees about version of symbol")) {
    return LogLine{KernelLogKind::UnknownSymbol};
  }
  return std::nullopt;
}

std::optional<LogLine> hung_task_line(std::string_view line) {
  const auto task = behind(line, "INFO: task ");
  if (task && contains(*task, " blocked for more than ") && (task->starts_with("nv-") || task->starts_with("nvidia"))) {
    return LogLine{KernelLogKind::KernelTrace};
  }
  return std::nullopt;
}

std::optional<LogLine> fabric_manager_line(std::string_view line) {
  const auto theirs = behind(line, "driver interface version ");
  const auto ours = behind(line, "match with driver version ");
  if (!theirs || !ours) {
    return std::nullopt;
  }
  return LogLine{KernelLogKind::FabricManagerVersion, "", 0, version_at(*ours), version_at(*theirs)};
}

}  // namespace

std::string pci_address(std::string_view text) {
  constexpr std::size_t kDomain = 4;
  constexpr std::size_t kMaxDomain = 8;
  constexpr std::size_t kBusAndSlot = 5;  // "98:00"
  const std::size_t colon = std::min(text.size(), text.find(':'));
  const std::string_view domain = text.substr(0, colon);
  const std::string_view place = text.substr(std::min(text.size(), colon + 1), kBusAndSlot);
  const bool is_address = domain.size() >= kDomain && domain.size() <= kMaxDomain && place.size() == kBusAndSlot &&
                          domain.find_first_not_of(kHexDigits) == std::string_view::npos && place[2] == ':' &&
                          place.find_first_not_of(kHexDigits) == 2 &&
                          place.find_first_not_of(kHexDigits, 3) == std::string_view::npos;
  if (!is_address) {
    return {};
  }
  const std::string_view rest = text.substr(colon + 1 + kBusAndSlot);
  const bool has_function = rest.size() > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '7';
  std::string_view significant = domain;
  while (significant.size() > kDomain && significant.front() == '0') {
    significant.remove_prefix(1);
  }
  std::string address(significant);
  address.append(":").append(place).append(has_function ? rest.substr(0, 2) : ".0");
  std::transform(address.begin(), address.end(), address.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return address;
}

std::string_view without_indent(std::string_view line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  return line;
}

std::string version_at(std::string_view text) {
  std::string_view version = text.substr(0, text.find_first_not_of("0123456789."));
  while (version.ends_with('.')) {
    version.remove_suffix(1);
  }
  const bool is_version = contains(version, ".") && version.front() != '.' && version.size() <= kMaxVersionBytes;
  return is_version ? std::string(version) : std::string();
}

bool is_of_interest(LogSource source, std::string_view line) {
  line = line.substr(0, kMaxLogLineBytes);
  if (source == LogSource::FabricManager) {
    return contains(line, "driver version");
  }
  constexpr std::array<std::string_view, 9> kWords{
      "NVRM", "nvidia", "Nvlink Core", "Loading of ", "ockdown", "blocked for more", "BUG: ", "WARNING: ", "Oops",
  };
  return std::any_of(kWords.begin(), kWords.end(), [line](std::string_view word) { return contains(line, word); });
}

std::optional<LogLine> classify_line(LogSource source, std::string_view line) {
  line = without_indent(line.substr(0, kMaxLogLineBytes));
  if (source == LogSource::FabricManager) {
    return fabric_manager_line(line);
  }
  if (line.starts_with("NVRM")) {
    return nvrm_line(line);
  }
  if (const auto text = behind(line, "SXid (")) {
    return line.starts_with("nvidia-nvswitch") ? xid_line(*text, KernelLogKind::SXid) : std::nullopt;
  }
  if (auto probe = probe_line(line)) {
    return probe;
  }
  if (auto refused = refusal_line(line)) {
    return refused;
  }
  return hung_task_line(line);
}

}  // namespace gpuskew
