#include "agent/probes/cdi_specs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/probes/cdi_spec.h"

namespace gpuskew {
namespace {

constexpr std::array kDirectories = {"/etc/cdi", "/var/run/cdi", "/run/cdi"};
constexpr const char* kSource = "/etc/cdi, /var/run/cdi";
constexpr std::size_t kMaxFiles = 128;
constexpr std::uint64_t kMaxSpecBytes = 8u << 20;
constexpr std::size_t kBlock = 16u << 10;

Result<CdiSpec> scan(const HostRoot& root, const std::string& path) {
  const auto file = root.open_file(path);
  if (!file) {
    return tl::unexpected(file.error());
  }
  CdiSpecScanner scanner;
  std::uint64_t offset = 0;
  for (;;) {
    const auto block = file->read_at(offset, kBlock);
    if (!block) {
      return tl::unexpected(block.error());
    }
    if (block->empty()) {
      break;
    }
    scanner.feed(*block);
    offset += block->size();
    if (offset > kMaxSpecBytes) {
      return fail(ErrorCode::TooLarge, "reading " + path + ": more than " + std::to_string(kMaxSpecBytes) + " bytes");
    }
  }
  scanner.finish();
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const std::string problem = scanner.problem();
  if (!problem.empty() && (scanner.names_nvidia() || name.find("nvidia") != std::string_view::npos)) {
    return fail(ErrorCode::Malformed, "reading " + path + " as a CDI specification: " + problem);
  }
  return CdiSpec{path, scanner.kind(), scanner.devices(), scanner.driver_version()};
}

bool is_spec_name(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".json");
}

bool is_nvidias(const CdiSpec& spec) {
  const std::string_view vendor = std::string_view(spec.kind).substr(0, spec.kind.find('/'));
  return vendor == "nvidia.com" || vendor.ends_with(".nvidia.com");
}

}  // namespace

Result<CdiSpec> CdiSpecCache::read(const HostRoot& root, const std::string& path, const FileStatus& status) {
  const auto known = entries_.find(path);
  if (known != entries_.end() && known->second.status == status) {
    return known->second.spec;
  }
  auto spec = scan(root, path);
  if (spec || spec.error().code == ErrorCode::Malformed) {
    if (entries_.size() == kMaxFiles) {
      entries_.clear();
    }
    entries_.insert_or_assign(path, Entry{status, spec});
  }
  return spec;
}

Fact<std::vector<CdiSpec>> read_cdi_specs(const HostRoot& root, CdiSpecCache* cache) {
  CdiSpecCache once;
  std::vector<CdiSpec> specs;
  std::vector<FileStatus> files;
  for (const char* directory : kDirectories) {
    const auto entries = root.list(directory, kMaxFiles);
    if (!entries && entries.error().code != ErrorCode::NotFound) {
      return Fact<std::vector<CdiSpec>>::unknown(entries.error(), directory);
    }
    for (const DirectoryEntry& entry : entries ? *entries : std::vector<DirectoryEntry>()) {
      if (!is_spec_name(entry.name)) {
        continue;
      }
      const std::string path = std::string(directory) + "/" + entry.name;
      const auto status = root.status(path);
      if (!status && status.error().code == ErrorCode::NotFound) {
        continue;  // a link that leads nowhere, or gone since the listing
      }
      if (status && std::find(files.begin(), files.end(), *status) != files.end()) {
        continue;
      }
      auto spec = status ? (cache == nullptr ? once : *cache).read(root, path, *status)
                         : Result<CdiSpec>(tl::unexpected(status.error()));
      if (!spec) {
        return Fact<std::vector<CdiSpec>>::unknown(spec.error(), path);
      }
      files.push_back(*status);
      if (!is_nvidias(*spec)) {
        continue;
      }
      if (specs.size() == kMaxCdiSpecs) {
        return Fact<std::vector<CdiSpec>>::unknown(
            {ErrorCode::TooLarge, "more than " + std::to_string(kMaxCdiSpecs) + " CDI specifications of NVIDIA"},
            kSource);
      }
      specs.push_back(std::move(*spec));
    }
  }
  return Fact<std::vector<CdiSpec>>::known(std::move(specs), kSource);
}

}  // namespace gpuskew
