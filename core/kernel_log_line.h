#pragma once

// One line of the kernel's log by itself. The wordings are those of the nvidia modules of branches 390 to 610, of
// Linux 5.4 to 6.18, and of nv-fabricmanager.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/facts/kernel_log.h"

namespace gpuskew {

enum class LogSource : std::uint8_t { Kernel, FabricManager };

/// What a line names; the meaning of each member is KernelLogEvent's.
struct LogLine {
  KernelLogKind kind{};
  std::string gpu{};
  std::uint32_t xid = 0;
  std::string ours{};
  std::string theirs{};

  bool operator==(const LogLine&) const = default;
};

/// Of a longer line only the beginning is looked at.
inline constexpr std::size_t kMaxLogLineBytes = 1024;

/// Quick and generous: false for a line that can be no part of anything KernelLogScanner knows.
bool is_of_interest(LogSource source, std::string_view line);

/// nullopt: the line names no cause, or does so only together with the lines around it.
std::optional<LogLine> classify_line(LogSource source, std::string_view line);

/// "0000:98:00.0" of "0000:98:00", "0000:98:00.0", "00000000:98:00.0 GPU-I:01"; "" when it is no PCI address.
std::string pci_address(std::string_view text);

/// `line` without the blanks before it, as dmesg indents the lines of one message.
std::string_view without_indent(std::string_view line);

/// A version such as "550.90.07" that stands at the beginning of `text`, without the full stop of its sentence; "" for
/// none.
std::string version_at(std::string_view text);

}  // namespace gpuskew
