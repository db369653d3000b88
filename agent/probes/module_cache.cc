#include "agent/probes/module_cache.h"

#include <algorithm>
#include <array>
#include <optional>

namespace gpuskew {
namespace {

constexpr std::uint64_t kMaxDependencyFile = 16u << 20;
constexpr std::size_t kDependencyBlock = 64u << 10;
constexpr std::size_t kMaxNamed = 16;

std::string_view without_module_suffix(std::string_view name) {
  for (const std::string_view suffix : {".ko", ".ko.xz", ".ko.zst", ".ko.gz"}) {
    if (name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return {};
}

bool is_packaging_word(std::string_view word) {
  if (word.empty()) {
    return false;
  }
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view tail = word.substr(std::min(word.find_first_not_of(kDigits), word.size()));
  if (tail.size() < word.size()) {  // "352", "390xx", "535srv"
    return tail.empty() || tail == "xx" || tail == "srv";
  }
  constexpr std::array<std::string_view, 6> kWords = {"current", "open", "srv", "server", "tesla", "legacy"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// The module's line in modules.dep starts with its path: "updates/dkms/nvidia.ko: kernel/drivers/...". Read block by
// block, because most of the file is names of no interest.
Result<std::vector<std::string>> modules_named_in(const HostFile& file, const std::string& path) {
  std::vector<std::string> modules;
  std::string pending;
  for (std::uint64_t at = 0; modules.size() < kMaxNamed; at += kDependencyBlock) {
    if (at >= kMaxDependencyFile) {
      return fail(ErrorCode::TooLarge,
                  "reading " + path + ": more than " + std::to_string(kMaxDependencyFile) + " bytes");
    }
    const auto block = file.read_at(at, kDependencyBlock);
    if (!block) {
      return tl::unexpected(block.error());
    }
    if (block->empty()) {
      break;
    }
    pending += *block;
    std::size_t start = 0;
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', start)) {
      const std::string_view line = std::string_view(pending).substr(start, end - start);
      start = end + 1;
      const std::string_view named = line.substr(0, std::min(line.find(':'), line.size()));
      if (is_nvidia_module_name(named.substr(named.rfind('/') + 1))) {
        modules.emplace_back(named);
      }
    }
    pending.erase(0, start);
    if (pending.size() > kDependencyBlock) {
      return fail(ErrorCode::Malformed, "reading " + path + ": a line is longer than any that depmod writes");
    }
  }
  return modules;
}

template <class Part>
void name_file(Result<Part>& part, const std::string& path) {
  if (!part) {
    part = fail("reading " + path, part.error());
  }
}

}  // namespace

bool is_nvidia_module_name(std::string_view file_name) {
  std::string_view stem = without_module_suffix(file_name);
  constexpr std::string_view kName = "nvidia";
  if (!stem.starts_with(kName)) {
    return false;
  }
  stem.remove_prefix(kName.size());
  while (!stem.empty()) {
    if (stem.front() != '-' && stem.front() != '_') {
      return false;
    }
    stem.remove_prefix(1);
    const std::size_t length = std::min(stem.find_first_of("-_"), stem.size());
    if (!is_packaging_word(stem.substr(0, length))) {
      return false;
    }
    stem.remove_prefix(length);
  }
  return true;
}

void ModuleCache::begin_pass() {
  spent_ = {};
}

ModuleIdentity ModuleCache::identity(const HostRoot& root, const std::string& path) {
  const auto file = root.open_file(path);
  const auto status = file ? file->status() : Result<FileStatus>(tl::unexpected(file.error()));
  if (!status) {
    return ModuleIdentity::unknown(status.error());
  }
  const Key key{status->device, status->inode};
  const auto known = modules_.find(key);
  const bool same = known != modules_.end() && known->second.status == *status;
  if (!same || (!known->second.identity.is_whole() && known->second.attempts < kMaxAttempts)) {
    if (spent_ >= kPassBudget) {
      return ModuleIdentity::unknown(
          {ErrorCode::Timeout, "reading " + path + ": the modules before it took longer than " +
                                   std::to_string(kPassBudget.count()) + " s to unpack; it is read next time"});
    }
    const int attempts = same ? known->second.attempts + 1 : 1;
    if (!same && modules_.size() >= kMaxFiles) {
      modules_.clear();
    }
    const auto begin = std::chrono::steady_clock::now();
    modules_.insert_or_assign(key, Module{*status, read_module_identity(*file), attempts});
    spent_ += std::chrono::steady_clock::now() - begin;
  }
  ModuleIdentity identity = modules_.at(key).identity;
  name_file(identity.version, path);
  name_file(identity.built_for, path);
  name_file(identity.flavour, path);
  return identity;
}

Result<std::vector<std::string>> ModuleCache::named_in_dependencies(const HostRoot& root, const std::string& path) {
  const auto none_or_error = [](const Error& error) -> Result<std::vector<std::string>> {
    if (error.code == ErrorCode::NotFound) {
      return std::vector<std::string>();  // depmod has not run
    }
    return tl::unexpected(error);
  };
  const auto status = root.status(path);
  if (!status) {
    return none_or_error(status.error());
  }
  const Key key{status->device, status->inode};
  const auto known = dependencies_.find(key);
  if (known != dependencies_.end() && known->second.status == *status) {
    return known->second.modules;
  }
  const auto file = root.open_file(path);
  if (!file) {
    return none_or_error(file.error());
  }
  auto modules = modules_named_in(*file, path);
  if (!modules) {
    return modules;
  }
  if (dependencies_.size() >= kMaxFiles) {
    dependencies_.clear();
  }
  dependencies_.insert_or_assign(key, Dependencies{*status, *modules});
  return modules;
}

}  // namespace gpuskew
