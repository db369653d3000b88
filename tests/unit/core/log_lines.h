#pragma once

// Kernel logs as tests tell them.

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel_log.h"
#include "nodes.h"

namespace gpuskew::testing {

inline constexpr Time kLogStart = kBoot + std::chrono::seconds(20);

/// Lines one millisecond apart, from kLogStart on.
inline std::vector<KernelLogEvent> events_of(const std::vector<std::string>& lines,
                                             LogSource source = LogSource::Kernel, Time from = kLogStart) {
  KernelLogScanner scanner;
  for (const std::string& line : lines) {
    scanner.feed(from, source, line);
    from += std::chrono::milliseconds(1);
  }
  return scanner.events();
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    lines.emplace_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

inline Fact<std::vector<KernelLogEvent>> kernel_log(const std::vector<std::string>& lines) {
  return known(events_of(lines), "journal");
}

inline const std::string kLoading =
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024";

}  // namespace gpuskew::testing
