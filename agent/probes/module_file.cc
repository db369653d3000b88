#include "agent/probes/module_file.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/paths.h"

namespace gpuskew {
namespace {

constexpr std::array<std::string_view, 2> kModuleRoots = {kModuleTrees, "/usr/lib/modules"};

// A kernel's tree has some 600 directories; the ones searched here are few.
constexpr std::size_t kMaxDirectories = 512;
constexpr std::size_t kMaxEntries = 8192;
constexpr int kMaxDepth = 4;  // extra/drivers/video/nvidia/nvidia.ko
constexpr std::uint64_t kMaxDependencyFile = 16u << 20;
constexpr std::size_t kDependencyBlock = 64u << 10;

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

bool is_regular(const HostRoot& root, const std::string& path) {
  const auto status = root.status(path);
  return status && status->kind == FileKind::Regular;
}

// The module's line in modules.dep starts with its path: "updates/dkms/nvidia.ko: kernel/drivers/...". Read block by
// block because the file is near a megabyte, most of it names of no interest.
class DependencyFile {
 public:
  explicit DependencyFile(HostFile file) : file_(std::move(file)) {}

  std::optional<std::string> module_where(const std::function<bool(const std::string&)>& accept) {
    std::string pending;
    for (std::uint64_t at = 0; at < kMaxDependencyFile; at += kDependencyBlock) {
      const auto block = file_.read_at(at, kDependencyBlock);
      if (!block || block->empty()) {
        break;
      }
      pending += *block;
      std::size_t start = 0;
      for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', start)) {
        const std::string_view line = std::string_view(pending).substr(start, end - start);
        start = end + 1;
        std::string path(line.substr(0, std::min(line.find(':'), line.size())));
        if (is_nvidia_module_name(std::string_view(path).substr(path.rfind('/') + 1)) && accept(path)) {
          return path;
        }
      }
      pending.erase(0, start);
      if (pending.size() > kDependencyBlock) {  // no line is that long
        break;
      }
    }
    return std::nullopt;
  }

 private:
  HostFile file_;
};

std::optional<std::string> module_by_dependencies(const HostRoot& root, const std::string& tree) {
  auto file = root.open_file(tree + "/modules.dep");
  if (!file) {
    return std::nullopt;  // depmod has not run: the walk answers
  }
  const auto in_tree = [&tree](const std::string& path) { return path.starts_with('/') ? path : tree + "/" + path; };
  DependencyFile dependencies(std::move(*file));
  const auto path =
      dependencies.module_where([&](const std::string& named) { return is_regular(root, in_tree(named)); });
  return path ? std::optional(in_tree(*path)) : std::nullopt;
}

// Where a distribution may put a module that is not the kernel's own, in the order modprobe prefers them.
enum class Place : std::uint8_t { Updates, Extra, Other, KernelTree, WeakUpdates };

class ModuleWalk {
 public:
  ModuleWalk(const HostRoot& root, std::string tree) : root_(root), tree_(std::move(tree)) {}

  /// nullopt: there is none. An error when none was found and a part could not be searched.
  Result<std::optional<std::string>> find() {
    for (const auto& entry : list(tree_)) {
      if (entry.kind == FileKind::Directory) {
        search_top(entry.name);
      }
    }
    if (!found_.empty()) {
      return std::min_element(found_.begin(), found_.end())->second;
    }
    if (error_) {
      return tl::unexpected(*error_);
    }
    return std::nullopt;
  }

 private:
  void search_top(const std::string& name) {
    const std::string directory = tree_ + "/" + name;
    if (name == "build" || name == "source" || name == "vdso") {
      return;
    }
    if (name == "kernel") {
      search_kernel_tree(directory);
    } else if (name == "weak-updates") {
      search(directory, Place::WeakUpdates, kMaxDepth);
    } else if (name == "updates") {
      search(directory, Place::Updates, kMaxDepth);
    } else {
      search(directory, name == "extra" ? Place::Extra : Place::Other, kMaxDepth);
    }
  }

  // Some 600 directories of drivers: only where NVIDIA's installer and distributions' prebuilt packages put it.
  void search_kernel_tree(const std::string& kernel) {
    for (const auto& entry : list(kernel)) {
      if (entry.kind == FileKind::Directory && entry.name.starts_with("nvidia")) {
        search(kernel + "/" + entry.name, Place::KernelTree, 2);
      }
    }
    search(kernel + "/drivers/video", Place::KernelTree, 2);
    search(kernel + "/drivers/char/drm", Place::KernelTree, 1);
  }

  void search(const std::string& directory, Place place, int depth) {
    for (const auto& entry : list(directory)) {
      const std::string path = directory + "/" + entry.name;
      if (entry.kind == FileKind::Directory) {
        if (depth > 1) {
          search(path, place, depth - 1);
        }
      } else if (is_nvidia_module_name(entry.name) && is_regular(root_, path)) {
        found_.emplace_back(place, path);
      }
    }
  }

  std::vector<DirectoryEntry> list(const std::string& directory) {
    if (++directories_ > kMaxDirectories) {
      error_ = Error{ErrorCode::TooLarge,
                     "searching " + tree_ + ": more than " + std::to_string(kMaxDirectories) + " directories"};
      return {};
    }
    auto entries = root_.list(directory, kMaxEntries);
    if (!entries) {
      if (entries.error().code != ErrorCode::NotFound) {
        error_ = entries.error();
      }
      return {};
    }
    return std::move(*entries);
  }

  const HostRoot& root_;
  std::string tree_;
  std::size_t directories_ = 0;
  std::vector<std::pair<Place, std::string>> found_;
  std::optional<Error> error_;
};

Fact<ModuleFile> described(const HostRoot& root, const std::string& path, const std::string& tree,
                           ModuleVersionCache* versions) {
  const auto version = versions != nullptr ? versions->read(root, path) : read_module_version(root, path);
  ModuleFile file;
  file.path = path;
  file.version =
      version ? Fact<DriverVersion>::known(*version, path) : Fact<DriverVersion>::unknown(version.error(), path);
  return Fact<ModuleFile>::known(std::move(file), tree);
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

Fact<ModuleFile> read_module_file(const HostRoot& root, const Fact<KernelRelease>& kernel,
                                  ModuleVersionCache* versions) {
  if (!kernel.is_known()) {
    return Fact<ModuleFile>::unknown({ErrorCode::NotFound, "the kernel release is unknown"}, std::string(kModuleTrees));
  }
  const std::string& release = kernel->text();
  if (release.find('/') != std::string::npos || release == "." || release == "..") {
    return Fact<ModuleFile>::unknown({ErrorCode::Malformed, "the kernel release is no directory name"},
                                     std::string(kModuleTrees));
  }
  std::string looked_at;
  bool any_modules = false;
  for (const std::string_view modules : kModuleRoots) {
    const std::string tree = std::string(modules) + "/" + release;
    const auto status = root.status(tree);
    if (!status && status.error().code == ErrorCode::NotFound) {
      any_modules = any_modules || root.status(modules);
      continue;
    }
    any_modules = true;
    if (!status) {
      return Fact<ModuleFile>::unknown(status.error(), tree);
    }
    if (const auto path = module_by_dependencies(root, tree)) {
      return described(root, *path, tree, versions);
    }
    const auto found = ModuleWalk(root, tree).find();
    if (!found) {
      return Fact<ModuleFile>::unknown(found.error(), tree);
    }
    if (*found) {
      return described(root, **found, tree, versions);
    }
    looked_at = looked_at.empty() ? tree : looked_at;
  }
  if (!any_modules) {
    return Fact<ModuleFile>::unknown(
        {ErrorCode::NotFound,
         std::string("neither ").append(kModuleRoots[0]).append(" nor ") + std::string(kModuleRoots[1]) + " is there"},
        std::string(kModuleTrees));
  }
  return Fact<ModuleFile>::absent(looked_at.empty() ? std::string(kModuleTrees) + "/" + release : looked_at);
}

}  // namespace gpuskew
