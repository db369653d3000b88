// dpkg's status file, and the folder of small ones that distroless images have in its place.

#include <algorithm>
#include <string>
#include <utility>

#include "agent/probes/apt_history.h"
#include "agent/probes/package_names.h"
#include "agent/probes/packages.h"

namespace gpuskew {
namespace {

constexpr const char* kStatusFile = "/var/lib/dpkg/status";
constexpr const char* kStatusFolder = "/var/lib/dpkg/status.d";
constexpr std::size_t kBlock = 64u << 10;
constexpr std::size_t kMaxFolder = 1024;

Result<std::vector<DpkgPackage>> read_status_file(const HostRoot& root, const DpkgScanner::Wanted& wanted) {
  const auto file = root.open_file(kStatusFile);
  if (!file) {
    return tl::unexpected(file.error());
  }
  DpkgScanner scanner(wanted);
  for (std::uint64_t at = 0;;) {
    const auto block = file->read_at(at, kBlock);
    if (!block) {
      return tl::unexpected(block.error());
    }
    if (block->empty()) {
      break;
    }
    at += block->size();
    if (at > kMaxDpkgStatus) {
      return fail(ErrorCode::TooLarge,
                  std::string("reading ") + kStatusFile + ": more than " + std::to_string(kMaxDpkgStatus) + " bytes");
    }
    scanner.feed(*block);
  }
  auto packages = std::move(scanner).finish();
  return packages ? packages : fail(std::string("reading ") + kStatusFile, packages.error());
}

Result<std::vector<DpkgPackage>> read_status_folder(const HostRoot& root, const DpkgScanner::Wanted& wanted) {
  const auto entries = root.list(kStatusFolder, kMaxFolder);
  if (!entries) {
    return tl::unexpected(entries.error());
  }
  std::vector<DpkgPackage> packages;
  for (const auto& entry : *entries) {
    if (entry.name.ends_with(".md5sums")) {
      continue;
    }
    const std::string path = std::string(kStatusFolder) + "/" + entry.name;
    const auto text = root.read(path);
    if (!text) {
      return tl::unexpected(text.error());
    }
    DpkgScanner scanner(wanted, false);
    scanner.feed(*text);
    auto found = std::move(scanner).finish();
    if (!found) {
      return fail("reading " + path, found.error());
    }
    std::move(found->begin(), found->end(), std::back_inserter(packages));
  }
  return packages;
}

InstallTraces traces_of(std::vector<DpkgPackage> packages, const std::string& source) {
  InstallTraces traces;
  for (DpkgPackage& package : packages) {
    if (auto trace = deb_trace(std::move(package.name), std::move(package.version), source)) {
      traces.push_back(std::move(*trace));
    }
  }
  return traces;
}

}  // namespace

Result<std::vector<DpkgPackage>> read_dpkg_packages(const HostRoot& root, const DpkgScanner::Wanted& wanted) {
  auto packages = read_status_file(root, wanted);
  return packages || packages.error().code != ErrorCode::NotFound ? packages : read_status_folder(root, wanted);
}

Result<InstallTraces> read_dpkg_traces(const HostRoot& root, std::string_view prefix, PackageCache* cache) {
  std::string source = std::string(prefix) + kStatusFile;
  auto status = root.status(kStatusFile);
  if (!status && status.error().code == ErrorCode::NotFound) {
    source = std::string(prefix) + kStatusFolder;
    status = root.status(kStatusFolder);
  }
  if (!status) {
    return tl::unexpected(status.error());
  }
  const auto read = [&]() -> Result<InstallTraces> {
    auto packages = read_dpkg_packages(root, [](std::string_view name) { return deb_role(name).has_value(); });
    if (!packages) {
      return tl::unexpected(packages.error());
    }
    InstallTraces traces = traces_of(std::move(*packages), source);
    note_apt_changes(root, traces);
    return traces;
  };
  const FileStatus history = root.status(kAptHistory).value_or(FileStatus{});
  return cache != nullptr ? cache->get(source, {*status, history}, read) : read();
}

Result<InstallTraces> read_package_traces(const HostRoot& root, std::string_view prefix, PackageCache* cache) {
  auto traces = read_dpkg_traces(root, prefix, cache);
  if (!traces && traces.error().code != ErrorCode::NotFound) {
    return traces;
  }
  auto more = read_rpm_traces(root, prefix, cache);
  if (!more) {
    const bool none = more.error().code == ErrorCode::NotFound;
    return none ? traces : more;
  }
  if (traces) {
    std::move(traces->begin(), traces->end(), std::back_inserter(*more));
  }
  return more;
}

}  // namespace gpuskew
