#include "agent/probes/runfile.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/version.h"

namespace gpuskew {
namespace {

constexpr const char* kUninstaller = "/usr/bin/nvidia-uninstall";
constexpr const char* kRecord = "/var/lib/nvidia/log";
constexpr const char* kLog = "/var/log/nvidia-installer.log";
constexpr std::size_t kBlock = 4096;  // of a log's beginning, and of its end

Result<std::string> read_block(const HostRoot& root, const char* path, bool end) {
  const auto file = root.open_file(path);
  const auto status = file ? file->status() : tl::unexpected(file.error());
  if (!status) {
    return tl::unexpected(status.error());
  }
  return file->read_at(end && status->size > kBlock ? status->size - kBlock : 0, kBlock);
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::string version_text(std::string_view text) {
  const auto version = DriverVersion::parse(text);
  return version ? version->text() : std::string();
}

// Its first line is "1.0-5509007 (550.90.07)". "" when it is another one.
std::string version_in_record(std::string_view record) {
  const std::string_view line = first_line(record);
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')');
  const bool bracketed = open != std::string_view::npos && close != std::string_view::npos && open < close;
  return version_text(bracketed ? line.substr(open + 1, close - open - 1) : line);
}

// The version of an installation that came to its end.
std::string version_in_log(const HostRoot& root, std::string_view head) {
  constexpr std::string_view kVersion = "\ninstaller version: ";
  const std::size_t at = head.find(kVersion);
  const auto tail = read_block(root, kLog, true);
  if (at == std::string_view::npos || !tail || tail->find("is now complete") == std::string::npos) {
    return {};
  }
  return version_text(first_line(head.substr(at + kVersion.size())));
}

}  // namespace

Result<InstallTraces> read_runfile_traces(const HostRoot& root) {
  const auto uninstaller = root.status(kUninstaller);
  if (!uninstaller && uninstaller.error().code != ErrorCode::NotFound) {
    return tl::unexpected(uninstaller.error());
  }
  const auto record = read_block(root, kRecord, false);
  if (!record && record.error().code != ErrorCode::NotFound && !uninstaller) {
    return tl::unexpected(record.error());
  }
  std::string version = record ? version_in_record(*record) : std::string();
  if (!uninstaller && version.empty()) {
    return InstallTraces{};
  }
  const auto head = read_block(root, kLog, false);
  if (version.empty() && head) {
    version = version_in_log(root, *head);
  }
  const std::string source = uninstaller ? kUninstaller : kRecord;
  InstallTraces traces{{InstallKind::Runfile, InstallPart::UserSpace, source, version, record ? kRecord : source}};
  // --no-kernel-modules: the module comes from elsewhere, as on Amazon's images.
  const bool libraries_only = head && head->find("--no-kernel-module") != std::string::npos;
  if (!libraries_only) {
    InstallTrace module = traces.front();
    module.part = InstallPart::KernelModule;
    traces.insert(traces.begin(), std::move(module));
  }
  return traces;
}

}  // namespace gpuskew
