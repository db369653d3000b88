#include "agent/probes/runtime_version.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kPackagedProgram = "/usr/bin/containerd";
constexpr const char* kDpkgStatus = "/var/lib/dpkg/status";
constexpr std::uint64_t kMaxDpkgStatus = 64u << 20;
constexpr std::size_t kDpkgBlock = 64u << 10;
constexpr std::string_view kDeleted = " (deleted)";

// The program's path; NotFound: none is installed.
Result<std::string> program_of(const HostRoot& root, const RuntimeDaemon& daemon, SeenFiles& seen) {
  if (daemon.process) {
    auto target = root.read_link("/proc/" + std::to_string(daemon.process->pid) + "/exe");
    if (target && target->ends_with(kDeleted)) {
      return fail(ErrorCode::Unsupported, "the running program is not the one on disk any more: " +
                                              target->substr(0, target->size() - kDeleted.size()));
    }
    if (!target && target.error().code == ErrorCode::NotFound) {
      return fail(ErrorCode::Internal, target.error().what);
    }
    return target;
  }
  constexpr std::array kContainerd = {kPackagedProgram, "/usr/local/bin/containerd", "/opt/bin/containerd"};
  constexpr std::array kCrio = {"/usr/bin/crio", "/usr/local/bin/crio"};
  const bool is_crio = daemon.kind == RuntimeKind::Crio;
  for (std::size_t at = 0; at < (is_crio ? kCrio.size() : kContainerd.size()); ++at) {
    const std::string path = is_crio ? kCrio[at] : kContainerd[at];
    if (daemon.flavour.empty() && seen.status(root, path)) {
      return path;
    }
  }
  if (!daemon.flavour.empty()) {
    return fail(ErrorCode::Unsupported, "it does not run, and " + daemon.flavour + " keeps its program to itself");
  }
  return fail(ErrorCode::NotFound, "no such program is installed");
}

// The Version field of the first of these packages, whichever block borders it lies across.
std::optional<std::string> dpkg_version(const HostRoot& root) {
  const auto file = root.open_file(kDpkgStatus);
  if (!file) {
    return std::nullopt;
  }
  constexpr std::array<std::string_view, 2> kPackages = {"\nPackage: containerd\n", "\nPackage: containerd.io\n"};
  constexpr std::size_t kStanza = 8u << 10;  // enough for the fields ahead of Version
  std::string window = "\n";
  for (std::uint64_t offset = 0; offset < kMaxDpkgStatus;) {
    const auto block = file->read_at(offset, kDpkgBlock);
    if (!block) {
      return std::nullopt;
    }
    offset += block->size();
    window += *block;
    for (const std::string_view package : kPackages) {
      const std::size_t at = window.find(package);
      if (at == std::string::npos || (window.size() - at < kStanza && !block->empty())) {
        continue;
      }
      const std::string_view stanza = std::string_view(window).substr(at, window.find("\n\n", at) - at);
      constexpr std::string_view kVersion = "\nVersion: ";
      const std::size_t version = stanza.find(kVersion);
      if (version != std::string_view::npos &&
          stanza.find("\nStatus: install ok installed\n") != std::string_view::npos) {
        const std::string_view rest = stanza.substr(version + kVersion.size());
        return std::string(rest.substr(0, rest.find('\n')));
      }
    }
    if (block->empty()) {
      return std::nullopt;
    }
    window.erase(0, window.size() - std::min(window.size(), kStanza));
  }
  return std::nullopt;
}

}  // namespace

DaemonVersion read_daemon_version(const HostRoot& root, const RuntimeDaemon& daemon, SeenFiles& seen) {
  const auto program = program_of(root, daemon, seen);
  if (!program) {
    return {Fact<std::string>::from(tl::unexpected(program.error()), daemon.config), {}};
  }
  const auto status = seen.status(root, *program);
  const auto file = status ? root.open_file(*program) : Result<HostFile>(tl::unexpected(status.error()));
  if (!file) {
    return {Fact<std::string>::unknown(file.error(), *program), {}};
  }
  const auto info =
      read_go_build_info([&file](std::uint64_t offset, std::size_t size) { return file->read_at(offset, size); });
  DaemonVersion version;
  version.containerd = info ? containerd_version_in(*info) : ContainerdVersion();
  if (version.containerd.text.empty() && *program == kPackagedProgram) {
    const ContainerdVersion packaged = parse_containerd_version(dpkg_version(root).value_or(""));
    version.containerd = packaged.major != 0 ? packaged : version.containerd;
  }
  if (daemon.kind == RuntimeKind::Containerd && !version.containerd.text.empty()) {
    version.text = Fact<std::string>::known(version.containerd.text, *program);
  } else {
    std::string why = info ? "the program does not tell it" : info.error().what;
    why += version.containerd.major == 0 ? "" : " beyond its major, " + std::to_string(version.containerd.major);
    version.text = Fact<std::string>::unknown({ErrorCode::Unsupported, *program + ": " + why}, *program);
  }
  return version;
}

}  // namespace gpuskew
