#include "agent/probes/dkms_log.h"

#include <algorithm>
#include <array>

#include "core/printable.h"

namespace gpuskew {
namespace {

constexpr std::size_t kHead = 8u << 10;
constexpr std::size_t kTail = 128u << 10;
constexpr std::size_t kMaxErrorText = 200;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string error_text(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return ascii_only(std::string(line.substr(0, kMaxErrorText)));
}

bool tells_an_error(std::string_view line) {
  // gcc and clang, make, modpost, dkms, the shell, the driver's own checks.
  constexpr std::array<std::string_view, 9> kSigns = {"error:",
                                                      "ERROR: ",
                                                      "*** ",
                                                      "Error! ",
                                                      "Error 1",
                                                      "command not found",
                                                      "No such file or directory",
                                                      "Bad return status",
                                                      "Compiler version check failed"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [line](std::string_view sign) { return line.find(sign) != std::string_view::npos; });
}

}  // namespace

std::optional<DkmsLog> parse_dkms_log(std::string_view text) {
  constexpr std::string_view kFor = " for kernel ";
  const std::string_view first = next_line(text);
  const std::size_t kernel_at = first.rfind(kFor);
  const std::size_t open = first.rfind(" (");
  if (!first.starts_with("DKMS") || first.find("make.log for ") == std::string_view::npos ||
      kernel_at == std::string_view::npos || open == std::string_view::npos || open < kernel_at + kFor.size() ||
      !first.ends_with(')')) {
    return std::nullopt;
  }
  DkmsLog log;
  log.kernel = first.substr(kernel_at + kFor.size(), open - kernel_at - kFor.size());
  log.architecture = first.substr(open + 2, first.size() - open - 3);
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (!tells_an_error(line)) {
      continue;
    }
    log.error = error_text(line);
    if (line.find("Compiler version check failed") != std::string_view::npos) {
      log.error =
          "Compiler version check failed: the compiler is not the one the kernel was built with; a matching "
          "one is needed, or IGNORE_CC_MISMATCH=1";
    }
    break;
  }
  return log;
}

Result<std::optional<DkmsLog>> read_dkms_log(const HostRoot& root, const std::string& path) {
  const auto file = root.open_file(path);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto status = file->status();
  auto text = file->read_at(0, kHead);
  if (!status || !text) {
    return tl::unexpected(status ? text.error() : status.error());
  }
  if (status->size > kHead) {
    const std::uint64_t from = std::max<std::uint64_t>(kHead, status->size > kTail ? status->size - kTail : 0);
    const auto tail = file->read_at(from, kTail);
    if (!tail) {
      return tl::unexpected(tail.error());
    }
    *text += *tail;
  }
  return parse_dkms_log(*text);
}

}  // namespace gpuskew
