#include "agent/probes/kernel_settings.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/printable.h"

namespace gpuskew {
namespace {

constexpr const char* kCommandLine = "/proc/cmdline";
constexpr const char* kKernelObjects = "/sys/kernel";
constexpr const char* kSecurity = "/sys/kernel/security";
constexpr const char* kLockdown = "/sys/kernel/security/lockdown";
constexpr const char* kFirmware = "/sys/firmware";
constexpr const char* kEfi = "/sys/firmware/efi";
constexpr const char* kVariables = "/sys/firmware/efi/efivars";
constexpr const char* kSecureBoot = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

// Four bytes of the variable's attributes, one of its value.
constexpr std::size_t kVariableSize = 5;

// Whether a directory is there and has entries: an empty one is the place of a file system that is not mounted.
Result<bool> is_filled(const HostRoot& root, const char* path) {
  const auto entries = root.list(path);
  if (!entries) {
    return tl::unexpected(entries.error());
  }
  return !entries->empty();
}

Fact<bool> secure_boot_in(std::string_view variable) {
  const char value = variable.size() == kVariableSize ? variable.back() : '\xff';
  if (value != 0 && value != 1) {
    return Fact<bool>::unknown(
        {ErrorCode::Malformed, std::string("reading ") + kSecureBoot + ": neither on nor off in it"}, kSecureBoot);
  }
  return Fact<bool>::known(value == 1, kSecureBoot);
}

Fact<bool> secure_boot_without_efi(const HostRoot& root, const Error& why) {
  const auto firmware = is_filled(root, kFirmware);
  if (why.code == ErrorCode::NotFound && firmware && *firmware) {
    return Fact<bool>::absent(kEfi);
  }
  return Fact<bool>::unknown(why, kEfi);
}

}  // namespace

Fact<std::string> read_command_line(const HostRoot& root) {
  auto line = root.read_line(kCommandLine);
  return line ? Fact<std::string>::known(ascii_only(std::move(*line)), kCommandLine)
              : Fact<std::string>::unknown(line.error(), kCommandLine);
}

Fact<std::string> read_lockdown(const HostRoot& root) {
  using Lockdown = Fact<std::string>;
  const auto line = root.read_line(kLockdown);
  if (line) {
    constexpr std::array<std::string_view, 3> kLevels{"none", "integrity", "confidentiality"};
    for (const std::string_view level : kLevels) {
      if (line->find('[' + std::string(level) + ']') != std::string::npos) {
        return Lockdown::known(std::string(level), kLockdown);
      }
    }
    return Lockdown::unknown({ErrorCode::Malformed, std::string("reading ") + kLockdown + ": names no level"},
                             kLockdown);
  }
  if (line.error().code != ErrorCode::NotFound) {
    return Lockdown::unknown(line.error(), kLockdown);
  }
  const auto security = is_filled(root, kSecurity);
  if (security) {
    return *security ? Lockdown::absent(kSecurity)
                     : Lockdown::unknown({ErrorCode::NotFound, std::string("listing ") + kSecurity +
                                                                   ": empty, so securityfs is not mounted"},
                                         kSecurity);
  }
  // A kernel without securityfs has no place for it either.
  const auto kernel = is_filled(root, kKernelObjects);
  return security.error().code == ErrorCode::NotFound && kernel && *kernel
             ? Lockdown::absent(kKernelObjects)
             : Lockdown::unknown(security.error(), kSecurity);
}

Fact<bool> read_secure_boot(const HostRoot& root) {
  const auto efi = root.status(kEfi);
  if (!efi) {
    return secure_boot_without_efi(root, efi.error());
  }
  const auto variable = root.read(kSecureBoot, kVariableSize);
  if (variable) {
    return secure_boot_in(*variable);
  }
  if (variable.error().code != ErrorCode::NotFound) {
    return Fact<bool>::unknown(variable.error(), kSecureBoot);
  }
  const auto variables = is_filled(root, kVariables);
  if (variables && *variables) {
    return Fact<bool>::known(false, kVariables);
  }
  return Fact<bool>::unknown(
      {ErrorCode::NotFound, std::string("listing ") + kVariables + ": nothing there, so efivarfs is not mounted"},
      kVariables);
}

const Fact<bool>& SecureBootMemory::read(const HostRoot& root, const Fact<std::string>& boot_id) {
  if (boot_id_ && boot_id.is_known() && *boot_id_ == *boot_id) {
    return answer_;
  }
  answer_ = read_secure_boot(root);
  boot_id_ = boot_id.is_known() && !answer_.is_unknown() ? std::optional(*boot_id) : std::nullopt;
  return answer_;
}

}  // namespace gpuskew
